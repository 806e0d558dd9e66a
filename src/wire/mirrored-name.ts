/** What a request is about, as the `Mcp-Name` header repeats it (2026-07-28: basic/transports/streamable-http, "Request Metadata"). */
import { type JsonObject, stringAt } from "./json.js";

/** Where it stands in the parameters; the tasks extension adds its own methods. */
const NAME_MEMBERS: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** `undefined` when the request has no name to say. */
export function mirroredName(method: string, params: JsonObject): string | undefined {
  const key = NAME_MEMBERS.get(method);
  return key === undefined ? undefined : stringAt(params, key);
}
