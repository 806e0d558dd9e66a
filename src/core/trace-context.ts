/**
 * What does a W3C trace context say, which trace does a call belong to, and what of the context may leave for a server?
 * (https://www.w3.org/TR/trace-context/, SEP-414)
 */
import { isEmpty, type JsonObject, objectAt, stringAt, without } from "../wire/json.js";
import type { Call, Handler, Middleware } from "./call.js";
import type { TraceContext } from "./call-record.js";

/** The span that a context names. */
export interface NamedSpan {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
  readonly tracestate: string | undefined;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?$/;
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);
/** Longer ones may be dropped (3.3.1.5). */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** The span that `traceparent` names; undefined if it is not valid. A `tracestate` that is not valid is left out. */
export function readContext(traceparent: unknown, tracestate: unknown): NamedSpan | undefined {
  if (typeof traceparent !== "string") return undefined;
  const [, version, traceId = NO_TRACE, spanId = NO_SPAN, flags = "", more] =
    TRACEPARENT.exec(traceparent) ?? [];
  if (version === "ff" || traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  // Only a later version may say more.
  if (version === "00" && more !== undefined) return undefined;
  return {
    traceId,
    spanId,
    isSampled: (Number.parseInt(flags, 16) & 1) === 1,
    tracestate: typeof tracestate === "string" && TRACESTATE.test(tracestate) ? tracestate : undefined,
  };
}

/** The context in which `span` is the parent. */
export const contextOf = ({ traceId, spanId, isSampled, tracestate }: NamedSpan): TraceContext => ({
  traceparent: `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`,
  tracestate,
});

/** The trace of the call: of its span, else the one that the host sent in `_meta`; undefined if there is none. */
export function traceIdOf({ params, record }: Pick<Call, "params" | "record">): string | undefined {
  if (record?.traceId !== undefined) return record.traceId;
  const traceparent = stringAt(objectAt(params, "_meta"), "traceparent");
  return traceparent === undefined ? undefined : readContext(traceparent, undefined)?.traceId;
}

const BAGGAGE = ["baggage"];

/**
 * The params without the host's `baggage`, which may hold anything about a person (W3C Baggage, "Security Considerations");
 * `traceparent` and `tracestate` stay. The same object where there is no baggage.
 */
export function withoutBaggage(params: JsonObject): JsonObject {
  const meta = objectAt(params, "_meta");
  if (meta === undefined || !Object.hasOwn(meta, "baggage")) return params;
  const kept = without(meta, BAGGAGE);
  if (!isEmpty(kept)) return { ...params, _meta: kept };
  const { _meta, ...rest } = params;
  return rest;
}

/** Removes `baggage` from each call. */
export const dropBaggage: Middleware = (next: Handler): Handler =>
  function dropBaggage(call) {
    const params = withoutBaggage(call.params);
    return next(params === call.params ? call : { ...call, params });
  };
