/** Detects files of hosts, and removes the parts that Cardea does not read. */
import { basename } from "node:path";
import { isHostValue, normalizedKeys } from "./host-server-keys.js";
import { NO_SUCH_FEATURE } from "./missing-feature.js";
import { type Section, sectionsWithin } from "./section.js";
import { serverKeyNames } from "./section-keys.js";
import { SERVER_KEYS } from "./server-keys.js";
import { serverSchema } from "./server-schema.js";
import type { Fault, Member, ObjectTree, Tree } from "./tree.js";

/** The names under which hosts keep their servers. */
const HOST_FILES: ReadonlySet<string> = new Set([
  ".mcp.json",
  "mcp.json",
  ".claude.json",
  "claude_desktop_config.json",
  "mcp_config.json",
  "mcp-config.json",
  "mcp_settings.json",
  "cline_mcp_settings.json",
  "settings.json",
]);

/** Keys that only a Cardea config has, whatever its file name. */
const CARDEA_KEYS = ["listen", "auth", "naming", "policy", "limits", "profiles", "registry"];

/** Keys under which hosts keep their servers and which Cardea does not read; they look like misspellings. */
const HOST_SERVERS_KEYS = ["mcp", "mcp_servers"];

/** Keys with a meaning in their host, and the effect of omitting them here. */
const HOST_KEYS: Readonly<Record<string, string>> = {
  headersHelper: "is not run here; put the header under headers, with a variable",
  authProviderType: "is not used here; cardea login signs in, or put an Authorization header under headers",
  sandbox: "is not applied here: the program is not confined",
  sandboxEnabled: "is not applied here: the program is not confined",
};

/** Whether the file is the config of a host, by its name and keys. */
export function isHostFile(file: string, tree: ObjectTree): boolean {
  return HOST_FILES.has(basename(file)) && !CARDEA_KEYS.some((key) => tree.members.has(key));
}

/**
 * The problems of a file that may be a host's under an unknown name: the first unknown key that is not a misspelling
 * names the command that reads it. `file` is its name as given.
 */
export function withImportHint(faults: readonly Fault[], file: string, tree: ObjectTree): readonly Fault[] {
  if (CARDEA_KEYS.some((key) => tree.members.has(key))) return faults;
  const strange = faults
    .filter(({ message }) => UNKNOWN_KEY.test(message))
    .reduce<Fault | undefined>(
      (first, fault) => (first && first.offset <= fault.offset ? first : fault),
      undefined,
    );
  if (strange === undefined) return faults;
  const hint = `; if this is the config of a host, "cardea import ${file}" turns it into Cardea's`;
  const isOfFeature = strange.message.endsWith(NO_SUCH_FEATURE);
  const otherwise = isOfFeature ? NO_SUCH_FEATURE.replace("; ", "; otherwise ") : "";
  const bare = strange.message.replace(/; did you mean .*$/, "").replace(NO_SUCH_FEATURE, "");
  const message = `${bare}${hint}${otherwise}`;
  return faults.map((fault) => (fault === strange ? { ...fault, message } : fault));
}

const UNKNOWN_KEY = new RegExp(
  ` has an unknown key "[^"]*"(?:${NO_SUCH_FEATURE})?$|^the file has an unknown key "(?:${HOST_SERVERS_KEYS.join("|")})"`,
);

/** A host's config without the host's own keys, and the omitted parts. */
export interface Stripped {
  readonly tree: ObjectTree;
  readonly warnings: readonly Fault[];
}

/** A host's file with nothing in it but what Cardea reads, and a warning for what was taken out. */
export function stripHostFile(tree: ObjectTree, sections: readonly Section[] = []): Stripped {
  const warnings: Fault[] = [];
  const members = new Map<string, Member>();
  const ignored: [string, Member][] = [];
  for (const [key, member] of tree.members) {
    if (!SERVER_KEYS.some((known) => known === key)) ignored.push([key, member]);
    else if (member.value.kind !== "object") members.set(key, member);
    else members.set(key, { ...member, value: stripServers(member.value, warnings, sections) });
  }
  const others = ignored.filter(([key]) => key !== "inputs" && key !== "$schema");
  if (others[0] !== undefined) {
    const names = others.slice(0, 5).map(([key]) => key);
    const more = others.length > names.length ? ` and ${others.length - names.length} more` : "";
    warnings.push({
      offset: others[0][1].keyOffset,
      message: `ignored, as the host's own: ${names.join(", ")}${more}`,
    });
  }
  return { tree: { ...tree, members }, warnings };
}

/** The same for one map of servers. */
export function stripServers(
  servers: ObjectTree,
  warnings: Fault[],
  sections: readonly Section[] = [],
): ObjectTree {
  const members = new Map<string, Member>();
  for (const [name, member] of servers.members) {
    if (member.value.kind !== "object") members.set(name, member);
    else if (isHostExtension(member.value)) {
      warnings.push({
        offset: member.keyOffset,
        message: `server ${JSON.stringify(name)} is an extension of the host, which only the host can start; it is omitted`,
      });
    } else members.set(name, { ...member, value: stripServer(name, member.value, sections, warnings) });
  }
  return { ...servers, members };
}

/** Zed keeps settings for servers that its extensions bring, Goose has some inside; there is nothing to start. */
function isHostExtension(server: ObjectTree): boolean {
  const { members } = server;
  if (text(members.get("source")?.value) === "extension") return true;
  if (isHostBuiltin(server)) return true;
  return members.has("settings") && !hasAddress(server);
}

/** Goose: a part of the host itself. */
export const isHostBuiltin = ({ members }: ObjectTree): boolean =>
  ["builtin", "platform", "frontend"].includes(text(members.get("type")?.value) ?? "");

/** Whether it has a command or URL under the keys of any host. */
export const hasAddress = ({ members }: ObjectTree): boolean =>
  ["command", "cmd", "url", "uri", "serverUrl", "httpUrl"].some((key) => members.has(key));

/** One server under Cardea's keys: renamed where hosts differ, without keys that only hosts use. */
function stripServer(
  name: string,
  server: ObjectTree,
  sections: readonly Section[],
  warnings: Fault[],
): ObjectTree {
  const members = new Map<string, Member>();
  const keys = new Map(normalizedKeys(server));
  const warn = (key: string, { keyOffset }: Member, what: string): void => {
    const message = `server ${JSON.stringify(name)}: ${JSON.stringify(key)} ${what}`;
    warnings.push({ offset: keyOffset, message });
  };
  for (const section of sectionsWithin(sections, "server")) section.fromHost?.(keys, warn);
  const keysOfFeatures = new Set(serverKeyNames(sections));
  for (const [key, member] of keys) {
    const isKey = Object.hasOwn(serverSchema.shape, key) || keysOfFeatures.has(key);
    const known = isKey && !isHostValue(key, member.value);
    if (known) members.set(key, member);
    else if (key !== "source" && key !== "name") {
      const meaning = Object.hasOwn(HOST_KEYS, key) ? HOST_KEYS[key] : "is the host's own and is ignored";
      warnings.push({
        offset: member.keyOffset,
        message: `server ${JSON.stringify(name)}: ${JSON.stringify(key)} ${meaning}`,
      });
    }
  }
  return { ...server, members };
}

const text = (tree: Tree | undefined): string | undefined =>
  tree?.kind === "scalar" && typeof tree.value === "string" ? tree.value : undefined;
