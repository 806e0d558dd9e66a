/** A result without what only hosts of the other era can make use of; most come through untouched, as the bytes they were. */
import type { Call } from "../../core/call.js";
import { isObject, type JsonObject, objectAt, without } from "../../wire/json.js";
import { Payload } from "../../wire/payload.js";
import { ANNOTATION, withValidParamHeaders } from "./param-annotations.js";

export function upgradeResult(result: Payload, { method }: Call): Payload {
  const isAffected = method === "tools/list" && AFFECTED.some((member) => result.mayContain(member));
  return isAffected ? upgradedList(result) : result;
}

const AFFECTED = ['"taskSupport"', `"${ANNOTATION}"`];

/** Lists are prepared once and answered many times, so what became of one is kept as long as it is. */
const upgradedLists = new WeakMap<Payload, Payload>();

function upgradedList(list: Payload): Payload {
  const before = upgradedLists.get(list);
  if (before !== undefined) return before;
  const { tools } = list.object;
  const upgraded = Array.isArray(tools)
    ? Payload.ofObject({ ...list.object, tools: tools.map(upgradedTool) })
    : list;
  upgradedLists.set(list, upgraded);
  return upgraded;
}

const upgradedTool = (tool: unknown): unknown =>
  isObject(tool) ? withValidParamHeaders(withoutTaskSupport(tool)) : tool;

/**
 * Whether a call becomes a task is for its server to say now, call by call, and a tool that could be run in no other
 * way is waited for (SEP-2663, "Backward Compatibility").
 */
function withoutTaskSupport(tool: JsonObject): JsonObject {
  const execution = objectAt(tool, "execution");
  if (execution === undefined) return tool;
  const kept: JsonObject = without(execution, ["taskSupport"]);
  return Object.keys(kept).length > 0 ? { ...tool, execution: kept } : without(tool, ["execution"]);
}
