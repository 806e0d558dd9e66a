/** Which calls are running on a connection, to which of them does a message belong, and how do they end at client and server? */
import { type Call, progressTokenOf, severityOf } from "../../core/call.js";
import type { TraceContext } from "../../core/call-record.js";
import { GatewayError } from "../../core/errors.js";
import type { StopSignal } from "../../core/stop.js";
import {
  codeOf,
  idKey,
  integerInText,
  type Notification,
  type Request,
  type RpcError,
} from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, without } from "../../wire/json.js";
import { CODE, META } from "../../wire/names.js";

/**
 * Late log messages of a call may arrive after its end. For this time (ms) after a call of another client has ended, a
 * message that names no call is dropped, even when only one call is left.
 */
const LATE_LOG_MS = 10_000;

/** One running request, and the client's call that gets its notifications (none while it is parked). */
export class OpenCall {
  /** Its index in `OpenCalls`; -1 when it is not in there. */
  slot = -1;
  #call: Call | undefined;
  #cancel: (() => void) | undefined;

  constructor(
    /** Its JSON-RPC id upstream, which is its progress token there as well. */
    readonly id: number,
    call: Call,
  ) {
    this.#call = call;
  }

  get call(): Call | undefined {
    return this.#call;
  }

  /** From now on `call` gets the notifications of the server, and its abort runs `cancel`. */
  attach(call: Call, cancel: () => void): void {
    this.detach();
    this.#call = call;
    this.#cancel = cancel;
    if (call.signal.aborted) cancel();
    else call.signal.addEventListener("abort", cancel, { once: true });
  }

  /** Drops notifications until the next `attach`. */
  detach(): void {
    if (this.#cancel !== undefined) this.#call?.signal.removeEventListener("abort", this.#cancel);
    this.#cancel = undefined;
    this.#call = undefined;
  }

  /** Forwards a notification of the server to the attached call, with the client's own progress token. */
  forwardNotification(message: Notification): void {
    const call = this.#call;
    if (call === undefined) return;
    const { method, params } = message;
    if (method === "notifications/progress") {
      const token = progressTokenOf(call.params);
      if (token !== undefined) call.notify({ method, params: { ...params, progressToken: token } });
    } else if (method !== "notifications/message" || meetsLogLevel(call, params)) {
      call.notify(params === undefined ? { method } : { method, params });
    }
  }
}

/** All running calls of one connection. */
export class OpenCalls<T extends OpenCall = OpenCall> {
  /**
   * In no order. Not a Map: one that is filled and emptied all the time reallocates its tables, and what the old
   * tables still point to (here the whole call) survives the young generation: 6 KiB a call.
   */
  readonly #open: T[] = [];
  /**
   * The client of the call that ended last, and when the last call of any other client ended. This is all that is
   * needed of ended calls; a Map of them would be filled and emptied with every call.
   */
  #last: { readonly affinity: string; endedAt: number } | undefined;
  #othersEndedAt = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#open.length;
  }

  /** By `performance.now()`; -Infinity where no call has ended yet. */
  get lastEndedAt(): number {
    return this.#last?.endedAt ?? Number.NEGATIVE_INFINITY;
  }

  get all(): Iterable<T> {
    return this.#open;
  }

  add(open: T): void {
    open.slot = this.#open.push(open) - 1;
  }

  remove(open: T, affinity: string, now = performance.now()): void {
    this.#forget(open);
    if (this.#last?.affinity === affinity) {
      this.#last.endedAt = now;
      return;
    }
    this.#othersEndedAt = this.#last?.endedAt ?? this.#othersEndedAt;
    this.#last = { affinity, endedAt: now };
  }

  /**
   * The call whose token a progress notification carries. Only `params.progressToken` is the gateway's own: a token in
   * `_meta` is chosen by the server, and may be any number.
   */
  byProgressToken(params: JsonObject | undefined): T | undefined {
    const token = integerInText(params?.progressToken) ?? idKey(params?.progressToken);
    return typeof token === "number" ? this.#open.find(({ id }) => id === token) : undefined;
  }

  /**
   * The only running call, unless a call of another client ended a moment ago. On a pipe this is the one way to
   * attribute a message that names no call. Calls for which `may` is false cannot have caused it and are not counted;
   * parked ones are counted.
   */
  soleCall(may: (call: Call) => boolean = () => true): T | undefined {
    const candidates = this.#open.filter(({ call }) => call === undefined || may(call));
    const [open] = candidates;
    if (open?.call === undefined || candidates.length > 1) return undefined;
    const { affinity } = open.call.client;
    const endedAt = this.#last?.affinity === affinity ? this.#othersEndedAt : this.#last?.endedAt;
    return endedAt !== undefined && endedAt + LATE_LOG_MS > performance.now() ? undefined : open;
  }

  #forget(open: T): void {
    const { slot } = open;
    if (slot === -1) return;
    open.slot = -1;
    const last = this.#open.pop();
    if (last === undefined || last === open) return;
    this.#open[slot] = last;
    last.slot = slot;
  }
}

/** The parameters with the gateway's token where the client had one, and without an empty `_meta`. */
export function withProgressToken(params: JsonObject, id: number): JsonObject {
  return progressTokenOf(params) === undefined
    ? params
    : { ...params, _meta: { ...objectAt(params, "_meta"), [META.progressToken]: id } };
}

/** The parameters with this trace context in their `_meta`, in place of any other. */
export function withTrace(params: JsonObject, { traceparent, tracestate }: TraceContext): JsonObject {
  const meta = objectAt(params, "_meta");
  const own = tracestate === undefined ? { traceparent } : { traceparent, tracestate };
  // A new member goes first: behind copied ones it costs 20 times as much.
  if (meta === undefined) return { _meta: own, ...params };
  return { ...params, _meta: { ...without(meta, TRACESTATE), ...own } };
}

const TRACESTATE = ["tracestate"];

// A client that set no level gets all messages; the host's era drops what it must not get.
function meetsLogLevel(call: Call, params: JsonObject | undefined): boolean {
  if (call.logLevel === undefined || !isObject(params)) return true;
  const level = severityOf(params.level);
  return level < 0 || level >= severityOf(call.logLevel);
}

/** The id is needed until the response; the parameters only while the request may have to be sent again. */
export interface SentRequest extends Request {
  params?: JsonObject;
}

const RELEASED: JsonObject = Object.freeze({});

/** Drops the parameters, which may be megabytes; the request cannot be sent again. */
export function releaseParams(request: SentRequest): void {
  request.params = RELEASED;
}

/** Whether the parameters were dropped. */
export const isReleased = ({ params }: Request): boolean => params === RELEASED;

/** The reason where the client gave none. */
export const CLIENT_CANCELLED = "the client cancelled";

/** The message of the GatewayError that aborted the call; otherwise that of a client's cancellation. */
export const cancelReason = ({ reason }: StopSignal): string =>
  reason instanceof GatewayError ? reason.message : CLIENT_CANCELLED;

/** Whether the code is one with which only a 2026-07-28 server refuses the form of a request. */
export function isModernRefusal(error: RpcError): boolean {
  const code = codeOf(error);
  return (
    code === CODE.headerMismatch ||
    code === CODE.missingClientCapability ||
    code === CODE.unsupportedProtocolVersion
  );
}

/**
 * The error as the client gets it. Codes that the specification reserves for the hop between two peers
 * (-32099 … -32020) describe the gateway's own request and become an internal error (2026-07-28, basic/index,
 * "Error Codes"); all others pass unchanged.
 */
export function errorForClient(server: string, error: RpcError): RpcError {
  const code = codeOf(error);
  if (code < -32099 || code > -32020) return error;
  return {
    code: CODE.internalError,
    message: `${server} refused the request of the gateway: ${error.message}`,
    data: { upstreamError: error },
  };
}
