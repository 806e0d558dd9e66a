/**
 * Keeps a chain of gateways from becoming a circle: which gateways something has come through stands in its `_meta`,
 * as `Via` does in HTTP. Servers that are no gateways of this kind see nothing of it.
 */
import type { Call } from "../core/call.js";
import { GatewayError } from "../core/errors.js";
import { type JsonObject, objectAt } from "../wire/json.js";
import { OWN_META } from "../wire/names.js";

/** A longer chain is no honest one. */
const MAX_HOPS = 8;

/**
 * A list as the gateway `from` gave it, for the gateway `own`: without what came from `own` in the first place,
 * which would come back once more each time it is listed, and with `from` added to the way of the rest.
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
 * A call on its way from the gateway `own` to another gateway.
 *
 * @throws GatewayError `bad_request` when it has been here before, or came through too many gateways.
 */
export function addOwnHop(call: Call, own: string): Call {
  const hops = hopsOf(call.params);
  if (hops.includes(own))
    throw loopError("has been through this gateway before: its servers lead back to it");
  if (hops.length >= MAX_HOPS)
    throw loopError(`has been through ${MAX_HOPS} gateways, which is as far as it may go`);
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
