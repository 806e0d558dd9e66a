/** Whether doing a call a second time can do no harm. */
import type { Call } from "../core/call.js";
import { LIST_METHODS } from "../core/lists.js";
import { objectAt } from "../wire/json.js";

/** Methods without side effects. Unknown methods may have some. */
const READS: ReadonlySet<string> = new Set([
  ...LIST_METHODS.keys(),
  "prompts/get",
  "resources/read",
  "resources/directory/read",
  "completion/complete",
  "skills/list",
  "skills/get",
  "tasks/list",
  "tasks/get",
  "tasks/result",
]);

/**
 * True for what only asks, and for tools that call themselves read-only or idempotent. The server's word is taken
 * for it: a server that lies here harms its own data (spec: server/tools, "Tool Annotations").
 */
export function isSafeToRepeat(call: Call): boolean {
  if (call.method !== "tools/call") return READS.has(call.method);
  const annotations = objectAt(call.route?.item, "annotations");
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}

/** Reads of resources, and calls of tools that are marked read-only. */
export function isRead(call: Call): boolean {
  if (call.method === "resources/read") return true;
  return call.method === "tools/call" && objectAt(call.route?.item, "annotations")?.readOnlyHint === true;
}
