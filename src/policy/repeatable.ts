/** Whether doing a call a second time can do no harm. */
import type { Call } from "../core/call.js";
import { objectAt } from "../wire/json.js";

/**
 * True for everything but tool calls, and for tools that call themselves read-only or idempotent. The server's
 * word is taken for it: a server that lies here harms its own data (spec: server/tools, "Tool Annotations").
 */
export function isSafeToRepeat(call: Call): boolean {
  if (call.method !== "tools/call") return true;
  const annotations = objectAt(call.route?.item, "annotations");
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}
