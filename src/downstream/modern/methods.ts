/** What this era knows of methods beyond passing them on; a method that stands nowhere here is just passed on. */
import type { JsonObject } from "../../wire/json.js";
import { stringAt } from "../../wire/json.js";

/** Answered at this edge; the gateway behind it never sees them. */
export const OWN_METHODS = { discover: "server/discover", listen: "subscriptions/listen" } as const;

/**
 * Methods that this revision took away while the gateway behind still knows them for the other era. Here they
 * do not exist (spec 2026-07-28: changelog).
 */
export const REMOVED_METHODS: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
]);

/** The only requests that may be answered with `input_required` (basic/patterns/mrtr, "Supported Requests"). */
export const RESUMABLE_METHODS: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
]);

/** Requests whose results carry caching hints (server/utilities/caching, "Cacheable Results"). */
export const CACHEABLE_METHODS: ReadonlySet<string> = new Set([
  "server/discover",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
]);

/** Where the value of `Mcp-Name` stands in the parameters; the tasks extension adds its own methods. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** What `Mcp-Name` must say for this request; `undefined` when the request has no name to say. */
export function mirroredName(method: string, params: JsonObject): string | undefined {
  const key = NAMED_BY.get(method);
  return key === undefined ? undefined : stringAt(params, key);
}
