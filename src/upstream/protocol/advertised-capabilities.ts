/** Which capabilities of a client are advertised to a server? Those that the gateway can relay. */
import type { Client } from "../../core/client.js";
import { TASKS_EXTENSION } from "../../core/methods.js";
import { boundedKey } from "../../runtime/cache-limits.js";
import { isEmpty, isObject, type JsonObject, objectAt, without } from "../../wire/json.js";
import { canonicalText } from "../../wire/json-text.js";

/**
 * The capabilities of `client`, declared in any revision, that the gateway can relay to a server of any revision. With
 * `aggregated`, `sampling.context` is not advertised: for the client, "this server" would mean all servers.
 */
export function relayable(client: Client, aggregated: boolean): JsonObject {
  // Most clients declare none.
  if (isEmpty(client.capabilities)) return NO_CAPABILITIES;
  const { sampling, elicitation, roots, extensions, experimental } = client.capabilities;
  const others = isObject(extensions) ? without(extensions, [TASKS_EXTENSION]) : {};
  return {
    ...(isObject(sampling) && { sampling: aggregated ? without(sampling, ["context"]) : sampling }),
    ...(isObject(elicitation) && { elicitation }),
    // Only a client with a session can send `notifications/roots/list_changed`.
    ...(isObject(roots) && { roots: client.session ? roots : {} }),
    ...(Object.keys(others).length > 0 && { extensions: others }),
    ...(isObject(experimental) && { experimental }),
  };
}

const NO_CAPABILITIES: JsonObject = {};

/** Whether a server with these client capabilities may ask questions. */
export const includesClientFeatures = (advertised: JsonObject): boolean =>
  ["sampling", "elicitation", "roots"].some((kind) => Object.hasOwn(advertised, kind));

/** The same for what `relayable` would return, without building it: evaluated for every call. */
export const declaresClientFeatures = ({ capabilities }: Client): boolean =>
  isObject(capabilities.sampling) || isObject(capabilities.elicitation) || isObject(capabilities.roots);

/** One key for all clients with the same advertised capabilities. */
export const capabilityClass = (advertised: JsonObject): string =>
  `capabilities:${boundedKey(canonicalText(advertised))}`;

/** The capabilities as a legacy revision defines them; what it does not define is left out. */
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
 * The capabilities for a 2026-07-28 server: clients cannot notify it of changed roots, and tasks are an extension, which
 * must not be enabled in any other revision (SEP-2663, "Backward Compatibility").
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
 * A function for the capabilities that 2026-07-28 servers get for each client. It returns the same object while they are
 * the same, so that callers can cache by identity.
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
