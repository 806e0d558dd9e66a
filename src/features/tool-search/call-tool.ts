/** How is a call of `call_tool` made the call of the tool that it names? */
import type { Call } from "../../core/call.js";
import { badRequest, GatewayError } from "../../core/errors.js";
import { isObject, type JsonObject, without } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import { CALL_TOOL, FIND_TOOLS } from "./own-tools.js";

/**
 * The call of the true tool: everything of the call but `name` and `arguments` stays, and `arguments` is the object that
 * the client sent. A `bad_request` that names the member, where one is missing, unknown or of another type.
 */
export function unwrapCall(call: Call): Call | GatewayError {
  const read = readArguments(call.params.arguments);
  if (read instanceof GatewayError) return read;
  const { name, args } = read;
  const { arguments: _, ...rest } = call.params;
  const params: JsonObject = { ...rest, name, ...(args !== undefined && { arguments: args }) };
  // No header of `call_tool` mirrors an argument; what looks like one has not been compared with the tool's arguments.
  return { ...call, params, extraHeaders: undefined, via: "search" };
}

const MEMBERS = ["name", "arguments"];

interface NamedTool {
  readonly name: string;
  /** Absent where the client sent none. */
  readonly args: JsonObject | undefined;
}

function readArguments(given: unknown): NamedTool | GatewayError {
  if (given !== undefined && !isObject(given)) return malformed("needs an object of arguments");
  const wrapper = given ?? {};
  const { name } = wrapper;
  // Models write null for what is absent, as hosts do.
  const args = wrapper.arguments ?? undefined;
  if (typeof name !== "string" || name === "") {
    return malformed(`needs "name": the exact name of a tool, as ${FIND_TOOLS} says it`);
  }
  const [unknown] = Object.keys(without(wrapper, MEMBERS));
  if (unknown !== undefined) {
    return malformed(
      `has no argument ${quoted(unknown)}: what the tool itself takes belongs into "arguments"`,
    );
  }
  if (args !== undefined && !isObject(args)) {
    const text = typeof args === "string" ? ", not the JSON text of one" : "";
    return malformed(`needs "arguments" to be an object${text}`);
  }
  if (name === CALL_TOOL) return malformed("cannot call itself");
  if (name === FIND_TOOLS) return malformed(`cannot call ${FIND_TOOLS}; call ${FIND_TOOLS} itself`);
  return { name, args };
}

const quoted = (text: string): string => writeJson(text.slice(0, 100));
const malformed = (what: string): GatewayError => badRequest(`${CALL_TOOL} ${what}`);
