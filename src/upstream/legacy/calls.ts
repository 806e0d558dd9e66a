/** The calls on one connection: each runs until the server answers, also while its client is asked something. */
import type { Call, InputResponses, Reply } from "../../core/call.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import { codeOf, type Envelope } from "../../wire/envelope.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import type { MessageId } from "../../wire/message-id.js";
import { CODE } from "../../wire/names.js";
import { CLIENT_CANCELLED, cancelReason } from "../protocol/cancel-reason.js";
import { nextId } from "../protocol/ids.js";
import { OpenCalls } from "../protocol/open-calls.js";
import type { Presentation } from "../protocol/questions.js";
import { invalidQuestionError, readUrlElicitations } from "../protocol/read-questions.js";
import { awaitTask, type Exchange, needsTask } from "./awaited-task.js";
import { callIdentity, type ParkableCall, type ParkedCalls } from "./parked-calls.js";
import { readReply } from "./read-reply.js";
import { RunningCall } from "./running-call.js";
import { progressTargetOf, type TaskProgress } from "./task-progress.js";
import { urlElicitationReply } from "./url-elicitation.js";
import { writeCall } from "./write-call.js";

export interface LegacyCallsSettings {
  readonly server: string;
  readonly parked: ParkedCalls;
  readonly presentation: () => Presentation;
  readonly exchange: Exchange;
  /** The server's capabilities as they are now. */
  readonly capabilities: () => JsonObject;
  readonly taskProgress: TaskProgress;
  /** Sends anything else; never rejects. */
  readonly post: (message: Envelope) => void;
}

export class LegacyCalls {
  readonly open = new OpenCalls<RunningCall>();
  readonly #settings: LegacyCallsSettings;

  constructor(settings: LegacyCallsSettings) {
    this.#settings = settings;
  }

  /** @throws GatewayError, or whatever the exchange failed with. */
  run(call: Call): Promise<Reply> {
    const { server, exchange, post, taskProgress } = this.#settings;
    if (call.signal.aborted) return Promise.reject(cancelled(server, call.signal));
    const giveUp = new Stop();
    const awaitsTask = needsTask(call, this.#settings.capabilities());
    const running: RunningCall = new RunningCall(nextId(), call, {
      respond: post,
      cancel: (why) => {
        if (running.awaitedTask === undefined) sendCancelled(running.id, post, why);
        else this.#cancelTask(running, running.awaitedTask);
        giveUp.abort();
      },
      awaitsTask,
    });
    this.open.add(running);
    // Of the call itself nothing here holds on to: it may be parked for long, and its arguments are large.
    const { affinity } = call.client;
    const target = progressTargetOf(call);
    const end = (ending: Parameters<RunningCall["end"]>[0]): void => {
      this.open.remove(running, affinity);
      running.end(ending);
    };
    const request = writeCall(call, running.id);
    const answer = awaitsTask
      ? awaitTask(request, running, exchange, giveUp.signal)
      : exchange(request, running, giveUp.signal);
    answer.then(
      ({ message }) => {
        if (target !== undefined) taskProgress.taskStarted(running.id, target, message);
        end({ message });
      },
      (error: unknown) => end({ error }),
    );
    return this.#nextReply(running, call);
  }

  /** The request that began the task is answered already; a task is cancelled in its own way, where it can be. */
  #cancelTask(running: RunningCall, taskId: string): void {
    if (objectAt(objectAt(this.#settings.capabilities(), "tasks"), "cancel") === undefined) return;
    const request = { jsonrpc: "2.0", id: nextId(), method: "tasks/cancel", params: { taskId } } as const;
    this.#settings.exchange(request, running, AbortSignal.timeout(CANCEL_MS)).catch(ignore);
  }

  /** Waits for the end of the call, or parks it while its client is asked. */
  async #nextReply(running: RunningCall, call: Call): Promise<Reply> {
    running.attach(call, () => running.cancel(cancelReason(call.signal)));
    let owner: string | Promise<string> | undefined;
    try {
      for (;;) {
        const step = running.turn();
        if (step === undefined) {
          await running.changed();
          continue;
        }
        if (step.kind === "ended") return this.#read(step.message, call);
        this.#requireParking(running, call);
        owner ??= callIdentity(call, this.#settings.server);
        if (typeof owner !== "string") {
          owner = await owner;
          // Meanwhile its server may have answered, or have taken its question back.
          continue;
        }
        const reply = this.#park(running, call, owner);
        if (reply !== undefined) return reply;
        running.refuseQuestions("too many calls wait for answers already");
      }
    } finally {
      if (running.hasEnded) running.detach();
    }
  }

  #read(message: Envelope, call: Call): Reply {
    const { server, presentation } = this.#settings;
    const { error } = message;
    if (error === undefined || codeOf(error) !== CODE.legacyUrlElicitationRequired) {
      return readReply(server, call, message);
    }
    const { value, fault } = readUrlElicitations(error);
    if (fault !== undefined) return { kind: "error", error: invalidQuestionError(server, fault) };
    return (
      urlElicitationReply(call, value, presentation()) ??
      readReply(server, call, { ...message, error: value })
    );
  }

  /** @throws GatewayError -32021 where nothing may wait for a client that must come back; the server is told. */
  #requireParking(running: RunningCall, { client }: Call): void {
    const { server, parked } = this.#settings;
    if (client.session || parked.isAllowed) return;
    const required = Object.fromEntries(running.questionCapabilities.map((capability) => [capability, {}]));
    running.cancel("no call may wait for answers here");
    const sentence = `${server} asks in the middle of this call, and no call may wait for answers here`;
    throw new GatewayError("denied", "gateway", sentence, {
      server,
      rpc: CODE.missingClientCapability,
      data: { requiredCapabilities: required },
    });
  }

  /** The questions of the call, under a state with which it goes on; undefined when no more calls may wait. */
  #park(running: RunningCall, call: Call, owner: string): Reply | undefined {
    const { parked, presentation } = this.#settings;
    const { client } = call;
    const token = parked.park(this.#parkable(running, owner, client));
    if (token === undefined) return undefined;
    running.releaseRequests();
    // The request of a session goes on while its client is asked, and may be cancelled. Without a session the
    // request is over now: the end of its stream says nothing, and nobody hears what the server says meanwhile.
    running.detach();
    if (client.session) {
      running.attach(call, () => {
        parked.remove(token);
        running.cancel(cancelReason(call.signal));
      });
    }
    return {
      kind: "input_required",
      requests: running.questions(presentation(), client.session),
      state: { parked: token },
      open: running.openRequests(),
    };
  }

  /** Apart from `#park`, so that what is kept does not hold on to the call. */
  #parkable(running: RunningCall, identity: string, { principal, session }: Client): ParkableCall {
    return {
      identity,
      principal: principal.id,
      server: this.#settings.server,
      isOpen: session,
      resume: (next, answers) => this.#resume(running, next, answers),
      expire: (why) => running.cancel(why),
    };
  }

  async #resume(running: RunningCall, call: Call, answers: InputResponses): Promise<Reply> {
    const { server } = this.#settings;
    if (call.signal.aborted) {
      running.cancel(cancelReason(call.signal));
      throw cancelled(server, call.signal);
    }
    running.deliverAnswers(answers);
    try {
      return await this.#nextReply(running, call);
    } catch (cause) {
      if (!(cause instanceof GatewayError) || cause.code !== "upstream_closed") throw cause;
      const sentence = `${cause.message}; what came of the call that had waited for an answer is not known`;
      throw new GatewayError("outcome_unknown", "upstream", sentence, { server, cause });
    }
  }
}

/** How long (ms) a server may take to say that it has cancelled a task. */
const CANCEL_MS = 30_000;
// Nobody waits for the task any more, whether its server has heard so or not.
const ignore = (): void => {};

// Closing the response stream says nothing in these revisions (2025-11-25, transports: "Disconnection SHOULD NOT
// be interpreted as the client cancelling its request"), so the server is told in words on every transport.
export function sendCancelled(
  requestId: MessageId,
  post: (message: Envelope) => void,
  reason: string = CLIENT_CANCELLED,
): void {
  post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } });
}

export const cancelled = (server: string, signal: StopSignal): GatewayError =>
  new GatewayError("cancelled", "downstream", CLIENT_CANCELLED, { cause: signal.reason, server });
