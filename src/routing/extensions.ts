/** Which methods that the gateway does not know may be forwarded, and which servers declare one. */
import { LIST_METHODS } from "../core/lists.js";
import { TARGETED_METHODS, TASK_METHODS } from "../core/methods.js";
import { type JsonObject, objectAt } from "../wire/json.js";

/**
 * Whether an unknown method may be forwarded. Its name also travels in a header, which loses surrounding
 * white space and allows printable ASCII only: `tools/call ` would arrive as another method.
 */
export const isForwardableMethod = (method: string): boolean =>
  /^[\x21-\x7e]{1,512}$/.test(method) && !MCP_METHODS.has(method.toLowerCase());

/**
 * The methods that MCP defines, in lower case: a case-insensitive server must not receive one of them as a
 * custom method.
 */
const MCP_METHODS: ReadonlySet<string> = new Set(
  [
    ...[...Object.keys(TARGETED_METHODS), ...LIST_METHODS.keys(), ...TASK_METHODS],
    ...["tasks/list", "skills/list", "initialize", "ping", "logging/setLevel", "server/discover"],
    ...["subscriptions/listen", "sampling/createMessage", "elicitation/create", "roots/list"],
  ].map((method) => method.toLowerCase()),
);

/** Capabilities whose methods the gateway routes itself. */
const ROUTED_CAPABILITIES = new Set([
  "tools",
  "prompts",
  "resources",
  "completions",
  "logging",
  "extensions",
  "experimental",
]);

/** Whether a server with these capabilities declares `method` or the extension that it belongs to. */
export function declaresMethod(capabilities: JsonObject | undefined, method: string): boolean {
  if (capabilities === undefined) return false;
  const names = [
    ...Object.keys(objectAt(capabilities, "extensions") ?? {}),
    ...Object.keys(objectAt(capabilities, "experimental") ?? {}),
    ...Object.keys(capabilities).filter((key) => !ROUTED_CAPABILITIES.has(key)),
  ];
  return names.some((name) => method.startsWith(`${name}/`) || method.startsWith(`${shortName(name)}/`));
}

/** Methods of `io.modelcontextprotocol/skills` begin with `skills/`. */
const shortName = (name: string): string => name.slice(name.lastIndexOf("/") + 1);
