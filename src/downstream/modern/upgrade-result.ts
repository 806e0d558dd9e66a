/** A result without what only hosts of the other era can make use of; most come through untouched, as the bytes they were. */
import type { Call } from "../../core/call.js";
import { isObject, type JsonObject, objectAt, without } from "../../wire/json.js";
import { Payload } from "../../wire/payload.js";

export function upgradeResult(result: Payload, { method }: Call): Payload {
  return method === "tools/list" && result.mayContain('"taskSupport"') ? withoutTaskSupport(result) : result;
}

/** Lists are prepared once and answered many times, so what became of one is kept as long as it is. */
const known = new WeakMap<Payload, Payload>();

/**
 * Whether a call becomes a task is for its server to say now, call by call, and a tool that could be run in no other
 * way is waited for (SEP-2663, "Backward Compatibility").
 */
function withoutTaskSupport(list: Payload): Payload {
  const before = known.get(list);
  if (before !== undefined) return before;
  const { tools } = list.object;
  const upgraded = Array.isArray(tools)
    ? Payload.ofObject({ ...list.object, tools: tools.map(upgradedTool) })
    : list;
  known.set(list, upgraded);
  return upgraded;
}

function upgradedTool(tool: unknown): unknown {
  const execution = isObject(tool) ? objectAt(tool, "execution") : undefined;
  if (!isObject(tool) || execution === undefined) return tool;
  const kept: JsonObject = without(execution, ["taskSupport"]);
  return Object.keys(kept).length > 0 ? { ...tool, execution: kept } : without(tool, ["execution"]);
}
