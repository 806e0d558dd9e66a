/** How does a call run on a legacy connection? Until the server responds, over as many rounds of questions as it asks. */
import type { Call, InputResponses, Reply } from "../../core/call.js";
import type { Peer } from "../../core/call-record.js";
import type { Client } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { principalKey } from "../../core/principal.js";
import { Stop, type StopSignal } from "../../core/stop.js";
import { codeOf, type Envelope, type MessageId } from "../../wire/envelope.js";
import { type JsonObject, objectAt } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import type { ProtocolSettings } from "../connection.js";
import { CLIENT_CANCELLED, cancelReason, OpenCalls } from "../protocol/open-calls.js";
import { invalidQuestionError, type Presentation, readUrlElicitations } from "../protocol/questions.js";
import { readReply, urlElicitationReply, writeCall } from "./messages.js";
import { type ParkableCall, type ParkedCalls, parkedIdentity } from "./parked-calls.js";
import type { QuestionPace } from "./question-pace.js";
import type { RememberedHost } from "./remembered-host.js";
import { RunningCall } from "./running-call.js";
import { awaitTask, type Exchange, needsTask, progressTargetOf, type TaskProgress } from "./tasks.js";

/** What calls need of their connection. */
export interface LegacyCallsSettings {
  readonly server: string;
  readonly ids: ProtocolSettings["ids"];
  readonly parked: ParkedCalls;
  readonly pace: QuestionPace;
  readonly presentation: () => Presentation;
  readonly exchange: Exchange;
  /** The session as it is now. */
  readonly peer: () => Pick<Peer, "revision" | "sessionId">;
  /** The server's capabilities as they are now. */
  readonly capabilities: () => JsonObject;
  readonly taskProgress: TaskProgress;
  /** What the server remembers of hosts; undefined where the connection is for one session, or for all hosts. */
  readonly remembered: RememberedHost | undefined;
  /** Sends anything else; never rejects. */
  readonly post: (message: Envelope) => void;
}

/** The calls of one connection. */
export class LegacyCalls {
  readonly open = new OpenCalls<RunningCall>();
  readonly #settings: LegacyCallsSettings;
  /** The last call that was cancelled before its response: its server may still ask questions in it. */
  #cancelled: { readonly host: RunningCall["host"]; readonly at: number } | undefined;

  constructor(settings: LegacyCallsSettings) {
    this.#settings = settings;
  }

  /** Whether no call runs beside `call` that another host may have made. A call about a task asks no host for roots. */
  readonly isAlone = (call: RunningCall): boolean => {
    for (const other of this.open.all)
      if (other !== call && other.allowsQuestions && !other.isOfTask) return false;
    return true;
  };

  /** Whether a question that names no call may be a late one of a cancelled call of another host than that of `call`. */
  mayBeLate({ host }: RunningCall): boolean {
    const cancelled = this.#cancelled;
    if (cancelled === undefined || performance.now() >= cancelled.at + LATE_QUESTION_MS) return false;
    return cancelled.host?.name !== host?.name || cancelled.host?.version !== host?.version;
  }

  /** Resolves to the result, an error or questions. @throws GatewayError, or what the exchange rejects with. */
  run(call: Call): Promise<Reply> {
    const { server, ids, exchange, pace, post, taskProgress, remembered } = this.#settings;
    if (call.signal.aborted) return Promise.reject(cancelled(server, call.signal));
    const giveUp = new Stop();
    const awaitsTask = needsTask(call, this.#settings.capabilities());
    const running: RunningCall = new RunningCall(ids.next(), call, {
      respond: post,
      remembered,
      pace,
      isAlone: this.isAlone,
      cancel: (why) => {
        if (running.allowsQuestions) this.#cancelled = { host: running.host, at: performance.now() };
        if (running.awaitedTask === undefined) sendCancelled(running.id, post, why);
        else this.#cancelTask(running, running.awaitedTask);
        giveUp.abort();
      },
      awaitsTask,
    });
    this.open.add(running);
    if (call.record !== undefined) {
      call.record.sentId = running.id;
      call.record.sentTo = this.#settings.peer();
    }
    // No closure here may keep the call itself: it may be parked for minutes, and its arguments are large.
    const { affinity } = call.client;
    const target = progressTargetOf(call);
    const end = (ending: Parameters<RunningCall["end"]>[0]): void => {
      this.open.remove(running, affinity);
      running.end(ending);
    };
    const request = writeCall(call, running.id);
    const answer = awaitsTask
      ? awaitTask(request, running, this.#settings, giveUp.signal)
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

  /** The request that created the task has its response already; so `tasks/cancel` is sent, where it is advertised. */
  #cancelTask(running: RunningCall, taskId: string): void {
    const { capabilities, exchange, ids } = this.#settings;
    if (objectAt(objectAt(capabilities(), "tasks"), "cancel") === undefined) return;
    const request = { jsonrpc: "2.0", id: ids.next(), method: "tasks/cancel", params: { taskId } } as const;
    exchange(request, running, AbortSignal.timeout(CANCEL_MS)).catch(ignore);
  }

  /** Waits for the end of the call, or parks it while its client is asked. */
  async #nextReply(running: RunningCall, call: Call): Promise<Reply> {
    running.attach(call, () => running.cancel(cancelReason(call.signal)));
    let owner: string | Promise<string> | undefined;
    try {
      for (;;) {
        const step = running.nextStep();
        if (step === undefined) {
          await running.changed();
          continue;
        }
        if (step.kind === "ended") return this.#read(step.message, call);
        this.#requireParking(running, call);
        owner ??= parkedIdentity(call, this.#settings.server);
        if (typeof owner !== "string") {
          owner = await owner;
          // Meanwhile the server may have responded, or have cancelled its question.
          continue;
        }
        const reply = this.#park(running, call, owner);
        if (reply !== undefined) return reply;
        running.refuseQuestions("too many parked calls");
      }
    } finally {
      if (running.hasEnded) running.detach();
    }
  }

  #read(message: Envelope, call: Call): Reply {
    const { server, presentation } = this.#settings;
    const { error } = message;
    if (error === undefined || codeOf(error) !== CODE.urlElicitationRequired) {
      return readReply(server, call, message);
    }
    const { value, fault } = readUrlElicitations(error);
    if (fault !== undefined) return { kind: "error", error: invalidQuestionError(server, fault) };
    return (
      urlElicitationReply(call, value, presentation()) ??
      readReply(server, call, { ...message, error: value })
    );
  }

  /** @throws GatewayError -32021 where no call may be parked (input_required); the call at the server is cancelled. */
  #requireParking(running: RunningCall, { client }: Call): void {
    const { server, parked } = this.#settings;
    if (client.session || parked.isAllowed) return;
    const required = Object.fromEntries(running.questionCapabilities.map((capability) => [capability, {}]));
    running.cancel("parked calls are disabled (parkedCalls.total is 0)");
    const sentence = `${server} asks during this call, and parked calls are disabled (parkedCalls.total is 0)`;
    throw new GatewayError("denied", "gateway", sentence, {
      server,
      rpc: CODE.missingClientCapability,
      data: { requiredCapabilities: required },
    });
  }

  /** Parks the call; the reply has its questions and the state to resume with. Undefined when the limit is reached. */
  #park(running: RunningCall, call: Call, owner: string): Reply | undefined {
    const { parked, presentation } = this.#settings;
    const { client } = call;
    const token = parked.park(this.#parkable(running, owner, client));
    if (token === undefined) return undefined;
    running.releaseRequests();
    // In a session the client's request stays open while it is asked, and may be cancelled. Without a session the
    // request ends now: its abort means nothing any longer, and notifications have no recipient meanwhile.
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

  /** Apart from `#park`, so that its closures do not keep the call. */
  #parkable(running: RunningCall, identity: string, { principal, session }: Client): ParkableCall {
    return {
      identity,
      principal: principalKey(principal),
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
      const sentence = `${cause.message}; the outcome of the parked call is unknown`;
      throw new GatewayError("outcome_unknown", "upstream", sentence, { server, cause });
    }
  }
}

/** For this time (ms) after a call was cancelled its server may send questions that it asks in it. */
const LATE_QUESTION_MS = 10_000;
/** The timeout (ms) of `tasks/cancel`. */
const CANCEL_MS = 30_000;
// The call has ended, whether or not the server has cancelled the task.
const ignore = (): void => {};

/**
 * Sends `notifications/cancelled`, on every transport: in these revisions the end of the response stream is no
 * cancellation (2025-11-25, transports: "Disconnection SHOULD NOT be interpreted as the client cancelling its request").
 */
export function sendCancelled(
  requestId: MessageId,
  post: (message: Envelope) => void,
  reason: string = CLIENT_CANCELLED,
): void {
  post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } });
}

/** The error of a call that was cancelled by `signal`. */
export const cancelled = (server: string, signal: StopSignal): GatewayError =>
  new GatewayError("cancelled", "downstream", CLIENT_CANCELLED, { cause: signal.reason, server });
