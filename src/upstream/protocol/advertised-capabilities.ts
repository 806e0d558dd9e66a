/** What of a client's capabilities is promised to a server: its own, of those that the gateway can relay. */
import type { Client } from "../../core/client.js";
import { TASKS_EXTENSION } from "../../core/tasks.js";
import { boundedKey } from "../../runtime/cache-limits.js";
import { isEmpty, isObject, type JsonObject, objectAt, without } from "../../wire/json.js";
import { canonicalText } from "../../wire/json-text.js";

/**
 * What the gateway can relay to a server of any revision of what `client` declared, whichever revision it declared
 * it in. With `aggregated`, the context of "this server" is not promised: for the client that would be all servers.
 */
export function relayable(client: Client, aggregated: boolean): JsonObject {
  // Most declare nothing.
  if (isEmpty(client.capabilities)) return NO_CAPABILITIES;
  const { sampling, elicitation, roots, extensions, experimental } = client.capabilities;
  const others = isObject(extensions) ? without(extensions, [TASKS_EXTENSION]) : {};
  return {
    ...(isObject(sampling) && { sampling: aggregated ? without(sampling, ["context"]) : sampling }),
    ...(isObject(elicitation) && { elicitation }),
    // Changes can be told only by a client that has a session to tell them in.
    ...(isObject(roots) && { roots: client.session ? roots : {} }),
    ...(Object.keys(others).length > 0 && { extensions: others }),
    ...(isObject(experimental) && { experimental }),
  };
}

const NO_CAPABILITIES: JsonObject = {};

/** True when a server may ask something of a client to whom `promised` was promised. */
export const includesClientFeatures = (advertised: JsonObject): boolean =>
  ["sampling", "elicitation", "roots"].some((kind) => Object.hasOwn(advertised, kind));

/** The same of what is promised of `client`, without making the promise: asked with every call. */
export const declaresClientFeatures = ({ capabilities }: Client): boolean =>
  isObject(capabilities.sampling) || isObject(capabilities.elicitation) || isObject(capabilities.roots);

/** One name for all clients of equal promises. */
export const capabilityClass = (advertised: JsonObject): string =>
  `capabilities:${boundedKey(canonicalText(advertised))}`;

/** The same in the words of an older revision, which knew fewer ways of asking; one that knew none leaves it out. */
export function capabilitiesForRevision(revision: string, advertised: JsonObject): JsonObject {
  if (revision >= "2025-11-25") return advertised;
  const elicitation = objectAt(advertised, "elicitation");
  const forms =
    elicitation !== undefined &&
    (Object.keys(elicitation).length === 0 || Object.hasOwn(elicitation, "form"));
  return {
    ...without(advertised, ["elicitation", "sampling"]),
    ...(forms && revision >= "2025-06-18" && { elicitation: {} }),
    ...(Object.hasOwn(advertised, "sampling") && { sampling: {} }),
  };
}

/**
 * The same for a server of 2026-07-28: its clients cannot tell it that their roots have changed, and tasks are an
 * extension, which must not be enabled in any other revision (SEP-2663, "Backward Compatibility").
 */
function capabilitiesForModern(advertised: JsonObject, { capabilities }: Client): JsonObject {
  const tasks = objectAt(objectAt(capabilities, "extensions"), TASKS_EXTENSION);
  const others = objectAt(advertised, "extensions");
  return {
    ...advertised,
    ...(Object.hasOwn(advertised, "roots") && { roots: {} }),
    ...(tasks !== undefined && { extensions: { ...others, [TASKS_EXTENSION]: tasks } }),
  };
}

/**
 * What servers of 2026-07-28 are promised for each client: the same object for as long as it is the same, so that
 * others can keep by it what they made of it.
 */
export function advertisedToModern(aggregated: () => boolean): (client: Client) => JsonObject {
  const known = new WeakMap<Client, { readonly aggregated: boolean; readonly advertised: JsonObject }>();
  return (client) => {
    if (isEmpty(client.capabilities)) return NO_CAPABILITIES;
    const now = aggregated();
    const before = known.get(client);
    if (before?.aggregated === now) return before.advertised;
    const advertised = capabilitiesForModern(relayable(client, now), client);
    known.set(client, { aggregated: now, advertised });
    return advertised;
  };
}
