/**
 * What of a host's trace context may leave for a server? Its `baggage` may hold anything about a person, and stays here;
 * `traceparent` and `tracestate` are forwarded (W3C Baggage, "Security Considerations"; SEP-414).
 */
import type { Handler, Middleware } from "../core/call.js";
import { isEmpty, type JsonObject, objectAt, without } from "../wire/json.js";

const BAGGAGE = ["baggage"];

/** The same object where it has none. */
export function withoutBaggage(params: JsonObject): JsonObject {
  const meta = objectAt(params, "_meta");
  if (meta === undefined || !Object.hasOwn(meta, "baggage")) return params;
  const kept = without(meta, BAGGAGE);
  if (!isEmpty(kept)) return { ...params, _meta: kept };
  const { _meta, ...rest } = params;
  return rest;
}

/** Takes the baggage out of each call. */
export const dropBaggage: Middleware = (next: Handler): Handler =>
  function dropBaggage(call) {
    const params = withoutBaggage(call.params);
    return next(params === call.params ? call : { ...call, params });
  };
