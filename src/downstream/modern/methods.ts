/** What this era knows of methods beyond passing them on; a method that stands nowhere here is just passed on. */
import { LIST_METHODS } from "../../core/lists.js";
import { TASKS_EXTENSION } from "../../core/methods.js";

/** Answered at this edge; the gateway behind it never sees them. */
export const EDGE_METHODS = { discover: "server/discover", listen: "subscriptions/listen" } as const;

/**
 * Methods that this revision took away while the gateway behind still knows them for the other era. Here they
 * do not exist (spec 2026-07-28: changelog; for tasks SEP-2663, "Backward Compatibility").
 */
export const REMOVED_METHODS: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
  "tasks/list",
  "tasks/result",
]);

/** Methods of an extension that a client must have declared before it may use them. */
export const EXTENSION_OF: ReadonlyMap<string, string> = new Map(
  ["tasks/get", "tasks/update", "tasks/cancel"].map((method) => [method, TASKS_EXTENSION]),
);

/** The only requests that may be answered with `input_required` (basic/patterns/mrtr, "Supported Requests"). */
export const RESUMABLE_METHODS: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
]);

/** Requests whose results carry caching hints (server/utilities/caching, "Cacheable Results"; for skills SEP-2640). */
export const CACHEABLE_METHODS: ReadonlySet<string> = new Set([
  "server/discover",
  ...LIST_METHODS.keys(),
  "resources/read",
  "skills/list",
  "skills/get",
]);
