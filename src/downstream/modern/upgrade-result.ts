/** A result without what only legacy hosts can use; most results pass unchanged, as the bytes they were. */
import type { Call } from "../../core/call.js";
import { isObject, type JsonObject, objectAt, without } from "../../wire/json.js";
import { paramHeaders } from "../../wire/mirrored-headers.js";
import { Payload } from "../../wire/payload.js";
import { mapSubschemas } from "../../wire/subschemas.js";

/** The result of `call` for a modern host; the same object where nothing changes. */
export function upgradeResult(result: Payload, { method }: Call): Payload {
  const isAffected = method === "tools/list" && AFFECTED.some((member) => result.mayContain(member));
  return isAffected ? upgradedList(result) : result;
}

const ANNOTATION = "x-mcp-header";
const AFFECTED = ['"taskSupport"', `"${ANNOTATION}"`];

/** By list page, which is made once and sent many times. Each belongs to one catalog, so gateways share no entry. */
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
 * In this era the server decides call by call whether a call becomes a task, and the gateway waits for a tool that runs only
 * as a task (SEP-2663, "Backward Compatibility").
 */
function withoutTaskSupport(tool: JsonObject): JsonObject {
  const execution = objectAt(tool, "execution");
  if (execution === undefined) return tool;
  const kept: JsonObject = without(execution, ["taskSupport"]);
  return Object.keys(kept).length > 0 ? { ...tool, execution: kept } : without(tool, ["execution"]);
}

/**
 * The tool without its `x-mcp-header` annotations where one of them breaks a rule: hosts must drop such a tool (2026-07-28,
 * server/tools, "x-mcp-header"), and an older server may use that key for something else.
 */
function withValidParamHeaders(tool: JsonObject): JsonObject {
  const schema = objectAt(tool, "inputSchema");
  return paramHeaders(schema).fault === undefined
    ? tool
    : { ...tool, inputSchema: withoutAnnotations(schema) };
}

function withoutAnnotations(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutAnnotations);
  return isObject(schema) ? mapSubschemas(without(schema, [ANNOTATION]), withoutAnnotations) : schema;
}
