/** Which call, or which client, a question of a legacy server belongs to. Never a guess: else it is refused. */

import { inBackground } from "../../core/background.js";
import type { Client, ClientDirectory } from "../../core/client.js";
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import { questionKind } from "../../core/methods.js";
import { missingCapability } from "../../core/missing-capability.js";
import type { StopSignal } from "../../core/stop.js";
import { type Envelope, FRAME_FAULT, FrameError, type Request, type RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt } from "../../wire/json.js";
import { checkServerLengths } from "../../wire/longest.js";
import { type IdKey, idKey, keyOf } from "../../wire/message-id.js";
import { CODE } from "../../wire/names.js";
import { type Presentation, present, withoutHop } from "../conversation/questions.js";
import { readQuestion } from "../conversation/read-questions.js";
import { type RunningCall, relatedTask } from "./running-call.js";

/** Why a question was refused; a label of a metric. */
export type RefusedQuestion = "not_promised" | "malformed" | "unattributable" | "too_many";

export interface ServerRequestSettings {
  readonly server: string;
  readonly log: Logger;
  /** What of its clients was promised to the server; a question beyond that is refused. */
  readonly promised: JsonObject;
  /** The one session that all calls on this connection belong to, if it is one session's alone. */
  readonly owner: Client | undefined;
  readonly directory: ClientDirectory;
  /** Roots for servers that ask for them where no client can be asked. */
  readonly roots: readonly JsonObject[] | undefined;
  readonly presentation: () => Presentation;
  readonly calls: () => Iterable<RunningCall>;
  readonly respond: (response: Envelope) => void;
  readonly refused: (why: RefusedQuestion) => void;
}

/** So many a client may be asked outside its calls at once, by one server. */
const MAX_OUTSIDE = 32;

export class ServerRequests {
  readonly #settings: ServerRequestSettings;
  /** Questions that a client is asked outside its calls, by the server's own ids. */
  readonly #outside = new Map<IdKey, AbortController>();

  constructor(settings: ServerRequestSettings) {
    this.#settings = settings;
  }

  /** Answers the question, or sees to it that it is answered. `on` is the call on whose own stream it came. */
  hear(request: Request, on: RunningCall | undefined): void {
    const { promised, roots, respond } = this.#settings;
    const fault = request[FRAME_FAULT] ?? whatIsTooLong(request);
    if (fault !== undefined) {
      this.#settings.refused("malformed");
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
      this.#settings.refused("malformed");
      this.#refuse(request, { code: CODE.invalidParams, message: misread });
    } else if (Object.hasOwn(promised, capability)) {
      const params = objectAt(value, "params");
      const [missing] = Object.keys(missingCapability(capability, params, promised) ?? {});
      if (missing === undefined) {
        this.#findWhose(params === request.params ? request : { ...request, ...(params && { params }) }, on);
        return;
      }
      this.#settings.refused("not_promised");
      const message = `${capability}.${missing} was not promised to this server`;
      this.#refuse(request, { code: CODE.invalidParams, message });
    } else if (capability === "roots" && roots !== undefined) {
      respond({ jsonrpc: "2.0", id: request.id, result: { roots } });
    } else {
      this.#settings.refused("not_promised");
      this.#refuse(request, methodNotFound(request));
    }
  }

  /** The server takes a question back. */
  withdraw(id: unknown): void {
    const key = idKey(id);
    if (key === undefined) return;
    for (const call of this.#settings.calls()) if (call.withdraw(key)) return;
    this.#outside.get(key)?.abort();
  }

  close(): void {
    for (const controller of this.#outside.values()) controller.abort();
  }

  /** A call that may have caused it; else the one session that all calls here belong to, whichever call it was. */
  #findWhose(request: Request, on: RunningCall | undefined): void {
    const { owner, directory, roots, respond } = this.#settings;
    const whose = this.#causeOf(request, on);
    if (whose?.mayAsk === true) {
      if (!whose.ask(request)) this.#refuseAnother(request, "too many questions are open in this call");
      return;
    }
    const port = owner === undefined ? undefined : directory.find(owner.affinity);
    if (port !== undefined) {
      // An answer to the second could not be told from one to the first, so there will be one.
      if (this.#outside.has(keyOf(request.id))) this.#settings.refused("unattributable");
      else if (this.#outside.size >= MAX_OUTSIDE)
        this.#refuseAnother(request, "too many questions are open outside all calls");
      else {
        const asked = this.#askOutside(request, (question, signal) => port.ask(question, signal));
        inBackground(asked, this.#settings.log, "asking a client outside its calls");
      }
      return;
    }
    if (request.method === "roots/list" && roots !== undefined) {
      respond({ jsonrpc: "2.0", id: request.id, result: { roots } });
      return;
    }
    this.#settings.refused("unattributable");
    this.#refuse(request, {
      code: CODE.invalidParams,
      message: `${request.method} belongs to no request that is under way, or to more than one`,
    });
  }

  /**
   * The task that a question names says whose it is, on whatever stream it came (2025-11-25: basic/utilities/tasks,
   * "Associating Task-Related Messages"); else the stream does. Without one it can only belong to the single call that
   * may cause questions.
   */
  #causeOf({ params }: Request, on: RunningCall | undefined): RunningCall | undefined {
    const { calls, owner } = this.#settings;
    const candidates = [...calls()].filter(({ mayAsk }) => mayAsk);
    const task = relatedTask(params);
    const waiting = task === undefined ? undefined : candidates.find((call) => call.task === task);
    if (waiting !== undefined || on !== undefined) return waiting ?? on;
    // A task that nobody waits for is no affair of another client that happens to be calling.
    const isForeign = task !== undefined && owner === undefined;
    return candidates.length === 1 && !isForeign ? candidates[0] : undefined;
  }

  async #askOutside(
    request: Request,
    ask: (question: JsonObject, signal: StopSignal) => Promise<JsonObject>,
  ): Promise<void> {
    const { id, method, params } = request;
    const controller = new AbortController();
    const key = keyOf(id);
    this.#outside.set(key, controller);
    const question = { method, ...(params !== undefined && { params: withoutHop(params, true) }) };
    try {
      const result = await ask(present(question, this.#settings.presentation()), controller.signal);
      if (!controller.signal.aborted) this.#settings.respond({ jsonrpc: "2.0", id, result });
    } catch (error) {
      if (!controller.signal.aborted) this.#refuse(request, errorOf(error));
    } finally {
      this.#outside.delete(key);
    }
  }

  #refuseAnother(request: Request, message: string): void {
    this.#settings.refused("too_many");
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

/** What is kept of a question, and compared with others, is short. */
function whatIsTooLong(request: Request): FrameError | undefined {
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
  message: `${method} was not promised to this server`,
});

/** A client's own refusal goes back in its own words; a fault of ours does not say more than that. */
function errorOf(error: unknown): RpcError {
  if (!(error instanceof GatewayError))
    return { code: CODE.internalError, message: "the client could not be asked" };
  const { rpc, data } = error.options;
  return { code: rpc ?? CODE.internalError, message: error.message, ...(isObject(data) && { data }) };
}
