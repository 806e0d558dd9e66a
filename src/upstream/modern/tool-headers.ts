/** Which tools can be used by their header annotations (basic/transports/streamable-http, "x-mcp-header")? */
import { type MalformedEntry, malformedEntry } from "../../core/list-entries.js";
import type { ServerList } from "../../core/upstream.js";
import { isObject, type JsonObject, objectAt } from "../../wire/json.js";
import { paramHeaders } from "../../wire/mirrored-headers.js";
import type { Channel } from "../transport/channel.js";

type UsableTools = Pick<ServerList, "items"> & { readonly malformed: readonly MalformedEntry[] };

/** Over HTTP a tool with invalid header annotations is dropped; on a pipe they mean nothing and are removed. */
export function usableTools(
  tools: readonly JsonObject[],
  { association }: Pick<Channel, "association">,
): UsableTools {
  if (association === "pipe") return { items: tools.map(withoutParamHeaders), malformed: [] };
  const malformed: MalformedEntry[] = [];
  const items = tools.filter((tool, index) => {
    const { fault } = paramHeaders(tool.inputSchema);
    if (fault === undefined) return true;
    malformed.push(
      malformedEntry("tools", tool, index, { member: "inputSchema", reason: `cannot be used: ${fault}` }),
    );
    return false;
  });
  return { items, malformed };
}

const ANNOTATION = "x-mcp-header";

/** The same object when it has none. Only positions where an annotation can be valid are searched. */
function withoutParamHeaders(tool: JsonObject): JsonObject {
  const schema = objectAt(tool, "inputSchema");
  if (schema === undefined) return tool;
  const { headers, fault } = paramHeaders(schema);
  if (headers.length === 0 && fault === undefined) return tool;
  const stripped = strip(schema);
  return stripped === schema ? tool : { ...tool, inputSchema: stripped };
}

function strip(schema: JsonObject): JsonObject {
  let changed = Object.hasOwn(schema, ANNOTATION);
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (key === ANNOTATION) return [];
    if (key !== "properties" || !isObject(value)) return [[key, value]];
    const properties = Object.entries(value).map(([name, property]): [string, unknown] => {
      const inner = isObject(property) ? strip(property) : property;
      changed ||= inner !== property;
      return [name, inner];
    });
    return [[key, Object.fromEntries(properties)]];
  });
  return changed ? Object.fromEntries(entries) : schema;
}
