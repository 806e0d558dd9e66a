/**
 * Which gateways has a call or a list entry passed? Loops are found by their ids in its `_meta`, like `Via` in HTTP.
 */
import type { Call } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { type JsonObject, objectAt } from "../wire/json.js";
import { OWN_META } from "../wire/names.js";

/** No legitimate chain of gateways is longer. */
const MAX_HOPS = 8;

/**
 * The entries of a list of the gateway `from`, for the gateway `own`: without those that came from `own`, which would
 * be listed again with each round, and with `from` added to the hops of the rest.
 */
export function filterLoopedItems(
  from: string,
  own: string,
  items: readonly JsonObject[],
): readonly JsonObject[] {
  return items.flatMap((item) => {
    const hops = hopsOf(item);
    const inCircle = from === own || hops.includes(own) || hops.includes(from);
    return inCircle || hops.length >= MAX_HOPS ? [] : [withHop(item, hops, from)];
  });
}

/**
 * The call with the gateway `own` added to its hops, to be sent to another gateway.
 *
 * @throws GatewayError `bad_request` when the call has passed this gateway before, or too many gateways.
 */
export function addOwnHop(call: Call, own: string): Call {
  const hops = hopsOf(call.params);
  if (hops.includes(own)) throw loopError("has passed this gateway before (a loop of gateways)");
  if (hops.length >= MAX_HOPS) throw loopError(`has passed ${MAX_HOPS} gateways, which is the limit`);
  return { ...call, params: withHop(call.params, hops, own) };
}

function hopsOf(object: JsonObject): readonly string[] {
  const hops = objectAt(object, "_meta")?.[OWN_META.hops];
  return Array.isArray(hops) ? hops.filter((hop) => typeof hop === "string") : [];
}

const withHop = (object: JsonObject, hops: readonly string[], hop: string): JsonObject => ({
  ...object,
  _meta: { ...objectAt(object, "_meta"), [OWN_META.hops]: [...hops, hop] },
});

const loopError = (what: string): GatewayError =>
  new GatewayError("bad_request", "downstream", `this call ${what}`);
