/** The keys of one server in a host's file, renamed to Cardea's where hosts differ. */
import type { Member, ObjectTree, Tree } from "./tree.js";
import { parseDuration } from "./units.js";

/** What hosts call differently: Goose, opencode, Gemini CLI, Crush, Codex. */
const KEY_ALIASES: Readonly<Record<string, string>> = {
  cmd: "command",
  uri: "url",
  envs: "env",
  environment: "env",
  http_headers: "headers",
  includeTools: "tools",
  available_tools: "tools",
  enabled_tools: "tools",
  excludeTools: "disabledTools",
  disabled_tools: "disabledTools",
};

/** The members of a server under Cardea's keys; what only hosts know keeps its own. */
export function normalizedKeys({ members }: ObjectTree): ReadonlyMap<string, Member> {
  const result = new Map(members);
  for (const [key, ours] of Object.entries(KEY_ALIASES)) {
    const member = result.get(key);
    const present = result.get(ours);
    if (member === undefined || (present !== undefined && !isHostValue(ours, present.value))) continue;
    result.delete(key);
    // Goose: an empty list of tools means all of them.
    const isEmpty = member.value.kind === "array" && member.value.items.length === 0;
    if (key !== "available_tools" || !isEmpty) result.set(ours, member);
  }
  // Cline and Continue.
  for (const key of ["transportType", "transport"]) {
    const member = result.get(key);
    if (member?.value.kind !== "scalar" || result.has("type")) continue;
    result.delete(key);
    result.set("type", member);
  }
  const type = result.get("type");
  if (type?.value.kind === "scalar") {
    const value = { local: "stdio", remote: "http", streamable_http: "http" }[String(type.value.value)];
    if (value !== undefined) result.set("type", { ...type, value: { ...type.value, value } });
  }
  // Older Zed: { "command": { "path": …, "args": …, "env": … } }
  const command = result.get("command");
  if (command?.value.kind === "object") {
    result.delete("command");
    for (const [key, member] of command.value.members) result.set(key === "path" ? "command" : key, member);
  }
  // opencode: the program and its arguments in one list.
  if (command?.value.kind === "array" && !result.has("args")) {
    const [program, ...items] = command.value.items;
    if (program !== undefined) {
      result.set("command", { ...command, value: program });
      result.set("args", { ...command, value: { ...command.value, items } });
    }
  }
  // null stands for "not given" in files that programs write.
  for (const [key, { value }] of result)
    if (value.kind === "scalar" && value.value === null) result.delete(key);
  moveHeaders(result);
  nameVariables(result);
  moveDurations(result);
  for (const key of ["env", "headers"]) {
    const member = result.get(key);
    if (member?.value.kind === "object")
      result.set(key, { ...member, value: { ...member.value, members: textMembers(member.value) } });
  }
  const args = result.get("args");
  if (args?.value.kind === "array")
    result.set("args", { ...args, value: { ...args.value, items: args.value.items.map(asText) } });
  return result;
}

/** An environment as hosts take it: numbers and booleans are text, null is a variable that is not set. */
const textMembers = ({ members }: ObjectTree): ReadonlyMap<string, Member> =>
  new Map(
    [...members]
      .filter(([, { value }]) => value.kind !== "scalar" || value.value !== null)
      .map(([key, member]) => [key, { ...member, value: asText(member.value) }]),
  );

/** A whole number beyond 2^53 has lost digits, and stays a number, which is reported. */
function asText(tree: Tree): Tree {
  if (tree.kind !== "scalar") return tree;
  const { value } = tree;
  const isExact = typeof value === "number" && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return isExact || typeof value === "boolean" ? { ...tree, value: String(value) } : tree;
}

/** Continue and JetBrains keep headers among the options of the request. */
function moveHeaders(server: Map<string, Member>): void {
  for (const key of ["requestOptions", "requestInit"]) {
    const options = server.get(key);
    if (options?.value.kind !== "object") continue;
    const { headers, ...others } = Object.fromEntries(options.value.members);
    if (headers?.value.kind !== "object") continue;
    addMembers(server, "headers", headers.value.members);
    if (Object.keys(others).length === 0) server.delete(key);
    else
      server.set(key, { ...options, value: { ...options.value, members: new Map(Object.entries(others)) } });
  }
}

/** Codex and Goose name environment variables whose values go into the environment or the headers. */
function nameVariables(server: Map<string, Member>): void {
  const reference = (member: Member, name: string, before = ""): Member => ({
    ...member,
    value: { kind: "scalar", offset: member.value.offset, value: `${before}\${${name}}` },
  });
  for (const key of ["env_keys", "env_vars"]) {
    const member = server.get(key);
    if (member?.value.kind !== "array") continue;
    const names = member.value.items.flatMap((item) => text(item) ?? []);
    server.delete(key);
    addMembers(server, "env", new Map(names.map((name) => [name, reference(member, name)])));
  }
  const token = server.get("bearer_token_env_var");
  const name = text(token?.value);
  if (token !== undefined && name !== undefined) {
    server.delete("bearer_token_env_var");
    addMembers(server, "headers", new Map([["Authorization", reference(token, name, "Bearer ")]]));
  }
  const fromVariables = server.get("env_http_headers");
  if (fromVariables?.value.kind !== "object") return;
  server.delete("env_http_headers");
  const headers = [...fromVariables.value.members].flatMap(([header, member]): [string, Member][] => {
    const variable = text(member.value);
    return variable === undefined ? [] : [[header, reference(member, variable)]];
  });
  addMembers(server, "headers", new Map(headers));
}

/** Codex counts in seconds. */
function moveDurations(server: Map<string, Member>): void {
  const keys = { startup_timeout_sec: "connectTimeout", tool_timeout_sec: "timeout" };
  for (const [key, ours] of Object.entries(keys)) {
    const member = server.get(key);
    if (member?.value.kind !== "scalar" || typeof member.value.value !== "number") continue;
    const ms = Math.round(member.value.value * 1000);
    const value = ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
    server.delete(key);
    server.set(ours, { ...member, value: { ...member.value, value } });
  }
}

/** What the object under `key` has already stays. */
function addMembers(server: Map<string, Member>, key: string, members: ReadonlyMap<string, Member>): void {
  const present = server.get(key);
  const own = present?.value.kind === "object" ? present.value : undefined;
  const [first] = members.values();
  if (first === undefined || (present !== undefined && own === undefined)) return;
  const all = new Map([...members, ...(own?.members ?? [])]);
  const { keyOffset } = present ?? first;
  server.set(key, { keyOffset, value: { kind: "object", offset: keyOffset, members: all } });
}

/** Whether a key of Cardea's has a value that only the host understands. */
export function isHostValue(key: string, value: Tree): boolean {
  // A timeout without a unit is a host's, in s or in ms; Cardea's have a unit.
  if (key === "timeout") return parseDuration(text(value) ?? "") === undefined;
  // Codex has settings of single tools there.
  const isFilter = (name: string): boolean => name === "allow" || name === "deny";
  return key === "tools" && value.kind === "object" && ![...value.members.keys()].some(isFilter);
}

const text = (tree: Tree | undefined): string | undefined =>
  tree?.kind === "scalar" && typeof tree.value === "string" ? tree.value : undefined;
