/** To which call or session does a question of a legacy server belong? Where that is not certain, it is refused. */
import type { Client, ClientDirectory } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { missingCapability, questionKind } from "../../core/methods.js";
import type { StopSignal } from "../../core/stop.js";
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
import { type Presentation, presentQuestion, withoutHopMetadata } from "../protocol/questions.js";
import { readQuestion } from "../protocol/read-questions.js";
import { type RunningCall, relatedTask } from "./running-call.js";

/** Why a question was refused; a label of a metric. */
export type RefusedQuestion = "not_promised" | "malformed" | "unattributable" | "too_many";

/** Where the questions of one connection may go. */
export interface ServerRequestSettings {
  readonly server: string;
  readonly log: Logger;
  /** The client capabilities that the server was offered; a question beyond them is refused. */
  readonly advertised: JsonObject;
  /** The one session that the connection is kept for, if there is one. */
  readonly owner: Client | undefined;
  readonly directory: ClientDirectory;
  /** The answer to `roots/list` where no client can be asked. */
  readonly roots: readonly JsonObject[] | undefined;
  readonly presentation: () => Presentation;
  readonly calls: () => Iterable<RunningCall>;
  readonly respond: (response: Envelope) => void;
  readonly onRefused: (why: RefusedQuestion) => void;
}

/** The maximum number of open questions of one connection outside calls. */
const MAX_SESSION_QUESTIONS = 32;

/** Answers the requests of one server, or sees that a client answers them. */
export class ServerRequests {
  readonly #settings: ServerRequestSettings;
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
        this.#routeQuestion(
          params === request.params ? request : { ...request, ...(params && { params }) },
          on,
        );
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

  /** Aborts all open questions outside calls. */
  close(): void {
    for (const controller of this.#sessionQuestions.values()) controller.abort();
  }

  /** To the call that may have caused the question; else to the session that the connection is kept for. */
  #routeQuestion(request: Request, on: RunningCall | undefined): void {
    const { owner, directory, roots, respond } = this.#settings;
    const call = this.#originatingCall(request, on);
    if (call?.allowsQuestions === true) {
      if (!call.addQuestion(request))
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
    this.#settings.onRefused("unattributable");
    this.#refuse(request, {
      code: CODE.invalidParams,
      message: `${request.method} belongs to no request that is under way, or to more than one`,
    });
  }

  /**
   * The call of a question: by the task that it names, on whatever stream it came (2025-11-25: basic/utilities/tasks,
   * "Associating Task-Related Messages"); else by its stream; else the only call that may cause questions.
   */
  #originatingCall({ params }: Request, on: RunningCall | undefined): RunningCall | undefined {
    const { calls, owner } = this.#settings;
    const candidates = [...calls()].filter(({ allowsQuestions }) => allowsQuestions);
    const task = relatedTask(params);
    const waiting = task === undefined ? undefined : candidates.find((call) => call.task === task);
    if (waiting !== undefined || on !== undefined) return waiting ?? on;
    // A task that no call awaits may belong to another client than the one that is calling now.
    const isForeign = task !== undefined && owner === undefined;
    return candidates.length === 1 && !isForeign ? candidates[0] : undefined;
  }

  async #forwardToSession(
    request: Request,
    ask: (question: JsonObject, signal: StopSignal) => Promise<JsonObject>,
  ): Promise<void> {
    const { id, method, params } = request;
    const controller = new AbortController();
    const key = idKeyOf(id);
    this.#sessionQuestions.set(key, controller);
    const question = { method, ...(params !== undefined && { params: withoutHopMetadata(params, true) }) };
    try {
      const result = await ask(presentQuestion(question, this.#settings.presentation()), controller.signal);
      if (!controller.signal.aborted) this.#settings.respond({ jsonrpc: "2.0", id, result });
    } catch (error) {
      if (!controller.signal.aborted) this.#refuse(request, errorOf(error));
    } finally {
      this.#sessionQuestions.delete(key);
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
    return { code: CODE.internalError, message: "the client could not be asked" };
  const { rpc, data } = error.options;
  return { code: rpc ?? CODE.internalError, message: error.message, ...(isObject(data) && { data }) };
}
