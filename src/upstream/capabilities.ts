/** What of a client's capabilities is promised to a server, and how clients are sorted by them. */
import type { Client } from "../core/client.js";
import { canonicalText } from "../wire/canonical.js";
import type { JsonObject } from "../wire/json.js";

/**
 * What the gateway can relay of what `client` declared. Nothing yet: questions from servers do not find their
 * way to clients so far, and nothing may be promised that is not kept.
 */
export function promiseFor(_client: Client): JsonObject {
  return {};
}

/** True when a server may ask something of a client to whom `promised` was promised. */
export const canBeAsked = (promised: JsonObject): boolean =>
  ["sampling", "elicitation", "roots"].some((kind) => Object.hasOwn(promised, kind));

/** One name for all clients of equal promises. */
export const classOf = (promised: JsonObject): string => `capabilities:${canonicalText(promised)}`;
