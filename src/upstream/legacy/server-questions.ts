/** To which call or session does a question of a legacy server belong? One for which that is not certain is refused. */

import { missingCapability } from "../../core/capabilities.js";
import type { Client, ClientDirectory } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { questionKind } from "../../core/methods.js";
import { ConditionVariable, type StopSignal } from "../../core/stop.js";
import {
  type Envelope,
  FRAME_FAULT,
  FrameError,
  type IdKey,
  idKey,
  idKeyOf,
  type Request,
  type RpcError,
} from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt } from "../../wire/json.js";
import { checkServerLengths } from "../../wire/length-limits.js";
import { CODE } from "../../wire/names.js";
import {
  type Presentation,
  presentQuestion,
  readQuestion,
  withoutHopMetadata,
} from "../protocol/questions.js";
import type { RememberedHost } from "./remembered-host.js";
import { type RunningCall, relatedTask } from "./running-call.js";

/** A question for roots, and what it may be caused by. */
export interface RootsRequest {
  /** The time (ms) since the handshake. */
  readonly afterOpenMs: number;
  /** `maybe`: a call was running, and the request came on no stream of it. */
  readonly inCall: "yes" | "maybe" | "no";
  /** Whether the server has not asked before in this session. */
  readonly isFirst: boolean;
  /** Whether the server has answered other requests before; undefined where messages come in no order. */
  readonly isAfterAnswers: boolean | undefined;
  /** The method of that call, and the name of its tool or prompt; undefined where it is not known. */
  readonly method: string | undefined;
  readonly name: unknown;
}

/** Why a question was refused; a label of a metric. */
export type RefusedQuestion = "not_promised" | "malformed" | "unattributable" | "too_many";

/** Where the questions of one connection may go. */
interface ServerRequestSettings {
  readonly server: string;
  readonly log: Logger;
  /** The client capabilities that the server was offered; a question beyond them is refused. */
  readonly advertised: JsonObject;
  /** The one session that the connection is kept for, if there is one. */
  readonly owner: Client | undefined;
  /** What the server remembers of hosts where the connection is kept for several. */
  readonly remembered: RememberedHost | undefined;
  /** Called when the server asks for roots. */
  readonly onRootsAsked: (request: RootsRequest) => void;
  readonly directory: ClientDirectory;
  /** The answer to `roots/list` where no client can be asked. */
  readonly roots: readonly JsonObject[] | undefined;
  readonly presentation: () => Presentation;
  readonly calls: () => Iterable<RunningCall>;
  /** Whether a question that names no call may belong to a call of another host that was cancelled, instead of this one. */
  readonly mayBeLate: (call: RunningCall) => boolean;
  /** Whether no call runs beside this one that another host may have made. */
  readonly isAlone: (call: RunningCall) => boolean;
  /** Whether requests come in the order in which the server sent them and its answers. */
  readonly isOrdered: boolean;
  readonly respond: (response: Envelope) => void;
  /** Resolves when the server has answered a ping; one that comes in order shows that it has read all that was sent before. */
  readonly ping: () => Promise<unknown>;
  readonly onRefused: (why: RefusedQuestion) => void;
}

/** The maximum number of open questions of one connection outside calls. */
const MAX_SESSION_QUESTIONS = 32;

/** How long (ms) after the handshake a call waits for a host that is being asked for its roots. */
const HOST_MS = 10_000;
/** How long (ms) a server may take to read them. */
const READ_MS = 5_000;
/** How long (ms) it may take to make use of roots that it has read, such as to look whether the folders exist. */
const TAKE_OVER_MS = 50;

/** Answers the requests of one server, or sees that a client answers them. */
export class ServerRequests {
  readonly #settings: ServerRequestSettings;
  readonly #rootsTold = new ConditionVariable();
  /** When (`performance.now()`) the session was opened, and when the server got the roots that the connection is kept for. */
  #openedAt = Number.NEGATIVE_INFINITY;
  #rootsToldAt: number | undefined;
  /** When it has read them; undefined until it has answered the ping that was sent after them. */
  #rootsReadAt: number | undefined;
  /** The server has asked for roots in this session. */
  #hasAsked = false;
  /** It has answered a request in this session. */
  #hasAnswered = false;
  /** The host of the session is being asked for its roots. */
  #hasOpenRoots = false;
  /** Open questions outside calls, by the server's request id. */
  readonly #sessionQuestions = new Map<IdKey, AbortController>();

  constructor(settings: ServerRequestSettings) {
    this.#settings = settings;
  }

  /** Answers or routes `request`; `on` is the call on whose own stream it came. */
  handle(request: Request, on: RunningCall | undefined): void {
    const { advertised, roots, respond } = this.#settings;
    const fault = request[FRAME_FAULT] ?? lengthFault(request);
    if (fault !== undefined) {
      this.#settings.onRefused("malformed");
      this.#refuse(request, { code: fault.code, message: fault.message });
      return;
    }
    if (request.method === "ping") {
      respond({ jsonrpc: "2.0", id: request.id, result: {} });
      return;
    }
    const capability = questionKind(request);
    const { value, fault: misread } = readQuestion(request);
    if (capability === undefined) {
      this.#refuse(request, methodNotFound(request));
    } else if (misread !== undefined) {
      this.#settings.onRefused("malformed");
      this.#refuse(request, { code: CODE.invalidParams, message: misread });
    } else if (Object.hasOwn(advertised, capability)) {
      const params = objectAt(value, "params");
      const [missing] = Object.keys(missingCapability(capability, params, advertised) ?? {});
      if (missing === undefined) {
        const question = params === request.params ? request : { ...request, ...(params && { params }) };
        if (capability === "roots") this.#routeRoots(question, on);
        else this.#routeQuestion(question, on);
        return;
      }
      this.#settings.onRefused("not_promised");
      const message = `${capability}.${missing} was not advertised to this server`;
      this.#refuse(request, { code: CODE.invalidParams, message });
    } else if (capability === "roots" && roots !== undefined) {
      respond({ jsonrpc: "2.0", id: request.id, result: { roots } });
    } else {
      this.#settings.onRefused("not_promised");
      this.#refuse(request, methodNotFound(request));
    }
  }

  /** The server cancels its question with that id. */
  cancelQuestion(id: unknown): void {
    const key = idKey(id);
    if (key === undefined) return;
    for (const call of this.#settings.calls()) if (call.cancelQuestion(key)) return;
    this.#sessionQuestions.get(key)?.abort();
  }

  /** Takes all open questions outside calls back from their hosts; their server gets no answer. */
  close(): void {
    for (const controller of this.#sessionQuestions.values()) controller.abort();
    this.#sessionQuestions.clear();
  }

  /** A session is open: the server knows nothing of the roots that it got in an earlier one. */
  sessionOpened(): void {
    this.#openedAt = performance.now();
    this.#rootsToldAt = undefined;
    this.#rootsReadAt = undefined;
    this.#hasAsked = false;
    this.#hasAnswered = false;
  }

  /** The server has answered a request. */
  serverAnswered(): void {
    this.#hasAnswered = true;
  }

  /** See `Connection`. */
  async whenRootsTold(afterOpenMs: number, signal: StopSignal): Promise<boolean> {
    for (;;) {
      const toldAt = this.#rootsToldAt;
      const latest = this.#openedAt + (this.#hasOpenRoots ? HOST_MS : afterOpenMs);
      const until = toldAt === undefined ? latest : this.#usesRootsAt(toldAt);
      const left = until - performance.now();
      if (left <= 0 || signal.aborted) return toldAt !== undefined;
      await this.#rootsTold.wait(left, signal);
    }
  }

  #usesRootsAt(toldAt: number): number {
    return this.#rootsReadAt === undefined ? toldAt + READ_MS : this.#rootsReadAt + TAKE_OVER_MS;
  }

  /**
   * A question for roots, on a connection that is kept for several hosts: the answer is that of the hosts that it is kept for;
   * as long as those are not known, of the host whose call alone it can belong to. A server may keep the answer, so no other
   * host is asked.
   */
  #routeRoots(request: Request, on: RunningCall | undefined): void {
    const { remembered, owner, onRootsAsked, roots, respond } = this.#settings;
    const call = this.#originatingCall(request, on);
    const known = remembered?.rootsFor(call);
    const isOfCall = call?.allowsQuestions === true;
    const asked = this.#rootsRequest(call, on);
    if (isOfCall || known !== undefined || owner !== undefined || roots === undefined) onRootsAsked(asked);
    this.#hasAsked = true;
    if (known !== undefined) {
      respond({ jsonrpc: "2.0", id: request.id, ...known });
      this.#onRootsSent();
      return;
    }
    const isShared = isOfCall && owner === undefined && (call.isOfTask || !this.#settings.isAlone(call));
    if (isShared) this.#refuseUnattributable(request);
    else
      this.#routeQuestion(request, on, () => {
        // A call does not end before the questions that it waits for, so this one was asked by no call.
        if (asked.inCall === "maybe") onRootsAsked({ ...asked, inCall: "no" });
        this.#onRootsSent();
      });
    // A refusal is an answer too; a host that is asked answers later.
    if (!isOfCall && owner === undefined) this.#onRootsSent();
  }

  #rootsRequest(call: RunningCall | undefined, on: RunningCall | undefined): RootsRequest {
    const isOfCall = call?.allowsQuestions === true;
    const told = isOfCall && !call.isOfTask ? call : undefined;
    return {
      afterOpenMs: performance.now() - this.#openedAt,
      inCall: on !== undefined ? "yes" : isOfCall ? "maybe" : "no",
      isFirst: !this.#hasAsked,
      isAfterAnswers: this.#settings.isOrdered ? this.#hasAnswered : undefined,
      method: told?.method,
      name: told?.target,
    };
  }

  #onRootsSent(): void {
    if (this.#rootsToldAt === undefined) {
      const toldAt = performance.now();
      this.#rootsToldAt = toldAt;
      if (this.#settings.isOrdered) inBackground(this.#whenRead(toldAt), this.#settings.log, "a ping");
      else this.#rootsReadAt = toldAt;
    }
    this.#rootsTold.notifyAll();
  }

  async #whenRead(toldAt: number): Promise<void> {
    await this.#settings.ping().catch(() => {}); // a refusal is an answer too
    if (this.#rootsToldAt !== toldAt) return;
    this.#rootsReadAt = performance.now();
    this.#rootsTold.notifyAll();
  }

  /** To the call that may have caused the question; else to the session that the connection is kept for. */
  #routeQuestion(request: Request, on: RunningCall | undefined, onOvertaken?: () => void): void {
    const { owner, directory, roots, respond } = this.#settings;
    const call = this.#originatingCall(request, on);
    if (call?.allowsQuestions === true) {
      if (!call.addQuestion(request, onOvertaken))
        this.#refuseTooMany(request, "too many questions are open in this call");
      return;
    }
    const clientChannel = owner === undefined ? undefined : directory.find(owner.affinity);
    if (clientChannel !== undefined) {
      // Two questions with one id: their answers could not be distinguished, so only the first gets one.
      if (this.#sessionQuestions.has(idKeyOf(request.id))) this.#settings.onRefused("unattributable");
      else if (this.#sessionQuestions.size >= MAX_SESSION_QUESTIONS)
        this.#refuseTooMany(request, "too many questions are open outside all calls");
      else {
        const forwarded = this.#forwardToSession(request, (question, signal) =>
          clientChannel.request(question, signal),
        );
        inBackground(forwarded, this.#settings.log, "forwarding a question outside calls");
      }
      return;
    }
    if (request.method === "roots/list" && roots !== undefined) {
      respond({ jsonrpc: "2.0", id: request.id, result: { roots } });
      return;
    }
    this.#refuseUnattributable(request);
  }

  #refuseUnattributable(request: Request): void {
    this.#settings.onRefused("unattributable");
    this.#refuse(request, {
      code: CODE.invalidParams,
      message: `${request.method} belongs to no single running request`,
    });
  }

  /**
   * The call of a question: by the task that it names, on whatever stream it came (2025-11-25: basic/utilities/tasks,
   * "Associating Task-Related Messages"); else by its stream; else the only call that may cause questions.
   */
  #originatingCall({ params }: Request, on: RunningCall | undefined): RunningCall | undefined {
    const { calls, owner, mayBeLate } = this.#settings;
    const candidates = [...calls()].filter(({ allowsQuestions }) => allowsQuestions);
    const task = relatedTask(params);
    const waiting = task === undefined ? undefined : candidates.find((call) => call.task === task);
    if (waiting !== undefined || on !== undefined) return waiting ?? on;
    // A task that no call awaits may belong to another client than the one that is calling now.
    const isForeign = task !== undefined && owner === undefined;
    const [sole, ...others] = candidates;
    if (sole === undefined || others.length > 0 || isForeign) return undefined;
    return owner === undefined && mayBeLate(sole) ? undefined : sole;
  }

  async #forwardToSession(
    request: Request,
    ask: (question: JsonObject, signal: StopSignal) => Promise<JsonObject>,
  ): Promise<void> {
    const { id, method, params } = request;
    const controller = new AbortController();
    const key = idKeyOf(id);
    this.#sessionQuestions.set(key, controller);
    if (method === "roots/list") this.#hasOpenRoots = true;
    const question = { method, ...(params !== undefined && { params: withoutHopMetadata(params, true) }) };
    try {
      const result = await ask(presentQuestion(question, this.#settings.presentation()), controller.signal);
      if (!controller.signal.aborted) this.#settings.respond({ jsonrpc: "2.0", id, result });
    } catch (error) {
      if (!controller.signal.aborted) this.#refuse(request, errorOf(error));
    } finally {
      if (this.#sessionQuestions.get(key) === controller) this.#sessionQuestions.delete(key);
      if (method === "roots/list") {
        this.#hasOpenRoots = false;
        this.#onRootsSent();
      }
    }
  }

  #refuseTooMany(request: Request, message: string): void {
    this.#settings.onRefused("too_many");
    this.#refuse(request, { code: CODE.internalError, message });
  }

  #refuse(request: Request, error: RpcError): void {
    const { server, log, respond } = this.#settings;
    log.debug(
      { server, method: request.method, reason: error.message },
      "a question of the server was refused",
    );
    respond({ jsonrpc: "2.0", id: request.id, error });
  }
}

/** Ids and method must be short, as they are kept and compared. */
function lengthFault(request: Request): FrameError | undefined {
  try {
    checkServerLengths(request);
    return undefined;
  } catch (error) {
    if (error instanceof FrameError) return error;
    throw error;
  }
}

const methodNotFound = ({ method }: Request): RpcError => ({
  code: CODE.methodNotFound,
  message: `${method} was not advertised to this server`,
});

/** The error for the server: a client's refusal unchanged; a bug of the gateway without details. */
function errorOf(error: unknown): RpcError {
  if (!(error instanceof GatewayError))
    return { code: CODE.internalError, message: "the client cannot be asked" };
  const { rpc, data } = error.options;
  return { code: rpc ?? CODE.internalError, message: error.message, ...(isObject(data) && { data }) };
}
