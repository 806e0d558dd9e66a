/** Which server a method belongs to that the gateway does not know: the only one that declares its extension. */
import { type JsonObject, objectAt } from "../wire/json.js";

/**
 * Whether a method that the gateway does not know may go to a server. Its name goes there in a header too, where
 * white space around it is lost and other characters cannot stand: `tools/call ` would arrive as another method.
 */
export const canBeCarried = (method: string): boolean => /^[\x21-\x7e]+$/.test(method);

/** The only one of `servers` whose capabilities declare `method`; undefined when none does, or several do. */
export function soleDeclarer(
  method: string,
  servers: readonly string[],
  capabilitiesOf: (server: string) => JsonObject | undefined,
): string | undefined {
  const declarers = servers.filter((server) => declares(capabilitiesOf(server), method));
  return declarers.length === 1 ? declarers[0] : undefined;
}

/** Capabilities whose methods the gateway routes itself. */
const OWN = new Set([
  "tools",
  "prompts",
  "resources",
  "completions",
  "logging",
  "extensions",
  "experimental",
]);

function declares(capabilities: JsonObject | undefined, method: string): boolean {
  if (capabilities === undefined) return false;
  const names = [
    ...Object.keys(objectAt(capabilities, "extensions") ?? {}),
    ...Object.keys(objectAt(capabilities, "experimental") ?? {}),
    ...Object.keys(capabilities).filter((key) => !OWN.has(key)),
  ];
  return names.some((name) => method.startsWith(`${name}/`) || method.startsWith(`${shortName(name)}/`));
}

/** Methods of `io.modelcontextprotocol/skills` begin with `skills/`. */
const shortName = (name: string): string => name.slice(name.lastIndexOf("/") + 1);
