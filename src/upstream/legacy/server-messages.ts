/** To which call or session does a message of a legacy server belong? A question for which that is not certain is refused. */

import type { Notice } from "../../core/call.js";
import type { Client, ClientDirectory } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import { CHANGED_LISTS } from "../../core/lists.js";
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
  type Notification,
  type Request,
  type RpcError,
} from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { checkServerLengths } from "../../wire/length-limits.js";
import { CODE } from "../../wire/names.js";
import type { ConnectionObserver } from "../connection.js";
import type { OpenCalls } from "../protocol/open-calls.js";
import {
  type Presentation,
  presentQuestion,
  readQuestion,
  withoutHopMetadata,
} from "../protocol/questions.js";
import { type RunningCall, relatedTask } from "./running-call.js";
import type { TaskProgress } from "./tasks.js";

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
  readonly directory: ClientDirectory;
  /** The answer to `roots/list` where no client can be asked. */
  readonly roots: readonly JsonObject[] | undefined;
  readonly presentation: () => Presentation;
  readonly calls: () => Iterable<RunningCall>;
  /** Whether a question that names no call may belong to a call of another host that was cancelled, instead of this one. */
  readonly mayBeLate: (call: RunningCall) => boolean;
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

  /** Takes all open questions outside calls back from their hosts; their server gets no answer. */
  close(): void {
    for (const controller of this.#sessionQuestions.values()) controller.abort();
    this.#sessionQuestions.clear();
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
    const question = { method, ...(params !== undefined && { params: withoutHopMetadata(params, true) }) };
    try {
      const result = await ask(presentQuestion(question, this.#settings.presentation()), controller.signal);
      if (!controller.signal.aborted) this.#settings.respond({ jsonrpc: "2.0", id, result });
    } catch (error) {
      if (!controller.signal.aborted) this.#refuse(request, errorOf(error));
    } finally {
      if (this.#sessionQuestions.get(key) === controller) this.#sessionQuestions.delete(key);
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

/** Where the notifications of one connection may go. */
interface NotificationSettings {
  readonly server: string;
  readonly log: Logger;
  readonly observer: ConnectionObserver;
  /** The one session that the connection is kept for, if there is one. */
  readonly owner: Client | undefined;
  readonly directory: ClientDirectory;
  readonly calls: OpenCalls<RunningCall>;
  readonly taskProgress: TaskProgress;
  /** Called with the `requestId` of a question that the server cancels. */
  readonly onQuestionCancelled: (id: unknown) => void;
  /** Called when the user has finished at the link of an elicitation. */
  readonly onElicitationComplete: (elicitationId: string) => void;
  /** Called with each `notifications/tasks/status`; the notice has the server's own task id. */
  readonly onTaskStatus: (notice: Notice) => void;
}

/** Routes the notifications of one connection. */
export class NotificationRouter {
  readonly #settings: NotificationSettings;

  constructor(settings: NotificationSettings) {
    this.#settings = settings;
  }

  /** Routes `message`; `on` is the call on whose own stream it came. */
  route(message: Notification, on: RunningCall | undefined): void {
    const { observer, calls, taskProgress, onQuestionCancelled, onTaskStatus } = this.#settings;
    const { method, params } = message;
    if (method === "notifications/resources/updated") {
      const uri = stringAt(params, "uri");
      if (uri !== undefined) observer.resourceUpdated(uri);
    } else if (CHANGED_LISTS.has(method)) {
      for (const kind of CHANGED_LISTS.get(method) ?? []) observer.listChanged(kind);
    } else if (method === "notifications/progress") {
      // The token decides, not the stream.
      const call = calls.byProgressToken(params);
      if (call === undefined) taskProgress.forward(params);
      else call.forwardNotification(message);
    } else if (method === "notifications/cancelled") {
      onQuestionCancelled(params?.requestId);
    } else if (method === "notifications/tasks/status") {
      // It may come on any stream (2025-11-25: basic/utilities/tasks, "Input Required Status").
      onTaskStatus(params === undefined ? { method } : { method, params });
    } else {
      this.#forward(message, on);
    }
  }

  /** To the call it belongs to; else to the session that the connection is kept for; else it is dropped. */
  #forward(message: Notification, on: RunningCall | undefined): void {
    const { server, log, owner, directory, onElicitationComplete } = this.#settings;
    const { method, params } = message;
    const id =
      method === "notifications/elicitation/complete" ? stringAt(params, "elicitationId") : undefined;
    if (id !== undefined) onElicitationComplete(id);
    const call = on ?? this.#callOf(params, id);
    if (call !== undefined) {
      call.forwardNotification(message);
      return;
    }
    const clientChannel = owner === undefined ? undefined : directory.find(owner.affinity);
    if (clientChannel?.notify === undefined)
      log.debug({ server, method }, "a notification belongs to no call");
    else clientChannel.notify(params === undefined ? { method } : { method, params });
  }

  /** The call that awaits the task it names; the sole call where it names nothing that another client may own. */
  #callOf(params: JsonObject | undefined, elicitationId: string | undefined): RunningCall | undefined {
    const { calls, owner } = this.#settings;
    const task = relatedTask(params);
    const waiting = task === undefined ? undefined : [...calls.all].find((call) => call.task === task);
    const isForeign = (task ?? elicitationId) !== undefined && owner === undefined;
    return waiting ?? (isForeign ? undefined : calls.soleCall());
  }
}
