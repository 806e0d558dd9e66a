/** What the gateway says of itself to one client: the sum of what the servers in its view say of themselves. */
import type { Introduction } from "../core/gateway-port.js";
import { implementationFlaw } from "../core/list-entries.js";
import type { ListKind, ServerFacts } from "../core/upstream.js";
import { isObject, type JsonObject, objectAt, without } from "../wire/json.js";
import { exposedStart, type Naming } from "./naming.js";
import { readableCapabilities } from "./readable-capabilities.js";
import type { ServerSpace } from "./server-space.js";

/** One server of the view, as far as it was met. */
export interface Introduced {
  readonly space: ServerSpace;
  /** Undefined while it was never met. */
  readonly facts: ServerFacts | undefined;
  /** False when filters leave nothing of what the server lists. */
  readonly shows: (kind: ListKind) => boolean;
}

const NONE: JsonObject = {};

/** The capabilities that promise lists, and the lists. */
const LISTS: ReadonlyMap<string, readonly ListKind[]> = new Map<string, readonly ListKind[]>([
  ["tools", ["tools"]],
  ["prompts", ["prompts"]],
  ["resources", ["resources", "resourceTemplates"]],
]);

export function introduction(servers: readonly Introduced[], self: JsonObject, naming: Naming): Introduction {
  const [only, second] = servers;
  // Seen alone and under its own names, a server is met as if nothing stood in between.
  const alone = second === undefined && only?.space.prefix === "" ? only.facts : undefined;
  const instructions = instructionsOf(servers, naming);
  return {
    serverInfo: readableInfo(alone?.serverInfo) ?? self,
    capabilities: capabilitiesOf(servers),
    ...(instructions !== undefined && { instructions }),
  };
}

/** Without members that hosts cannot read; undefined where what is left does not name a server and its version. */
function readableInfo(info: JsonObject | undefined): JsonObject | undefined {
  let readable = info;
  for (let flaw = implementationFlaw(readable); flaw !== undefined; flaw = implementationFlaw(readable)) {
    const [key = ""] = flaw.member.split(/[.[]/, 1);
    if (readable === undefined || !Object.hasOwn(readable, key)) return undefined;
    readable = without(readable, [key]);
  }
  return readable;
}

function capabilitiesOf(servers: readonly Introduced[]): JsonObject {
  let union: JsonObject = {};
  for (const { facts, shows } of servers) {
    for (const [key, value] of Object.entries(readableCapabilities(facts?.capabilities ?? NONE))) {
      const kinds = LISTS.get(key);
      if (kinds !== undefined && !kinds.some(shows)) continue;
      union = { ...union, [key]: joined(Object.hasOwn(union, key) ? union[key] : undefined, value) };
    }
  }
  // Whoever was not met yet may bring any of these, and clients ask only for what was promised.
  const unmet = servers.some(({ facts }) => facts === undefined);
  for (const key of LISTS.keys()) {
    if (unmet || Object.hasOwn(union, key)) {
      union = { ...union, [key]: { ...objectAt(union, key), listChanged: true } };
    }
  }
  return withoutHollowSkills(withoutHalfTasks(union, servers));
}

/**
 * Which tools can be run as tasks is said tool by tool, but that tasks can be listed or cancelled is a promise
 * about every task: it holds only where every server with tasks makes it.
 */
function withoutHalfTasks(union: JsonObject, servers: readonly Introduced[]): JsonObject {
  const tasks = objectAt(union, "tasks");
  if (tasks === undefined) return union;
  const trees = servers.flatMap(({ facts }): readonly JsonObject[] => {
    const tree = objectAt(facts?.capabilities, "tasks");
    return tree === undefined ? [] : [tree];
  });
  const half = ["list", "cancel"].filter((part) => !trees.every((tree) => Object.hasOwn(tree, part)));
  return { ...union, tasks: without(tasks, half) };
}

/** Skills are read as resources (SEP-2640): where none are shown, there is nothing to the promise. */
function withoutHollowSkills(union: JsonObject): JsonObject {
  const extensions = objectAt(union, "extensions");
  if (extensions === undefined || Object.hasOwn(union, "resources")) return union;
  return { ...union, extensions: without(extensions, ["io.modelcontextprotocol/skills"]) };
}

/** The union of two capability trees: `true` wins, of other values the first. */
function joined(first: unknown, second: unknown): unknown {
  if (first === undefined || first === false) return second;
  if (!isObject(first) || !isObject(second)) return first;
  let union = first;
  for (const [key, value] of Object.entries(second)) {
    union = { ...union, [key]: joined(Object.hasOwn(union, key) ? union[key] : undefined, value) };
  }
  return union;
}

function instructionsOf(servers: readonly Introduced[], naming: Naming): string | undefined {
  const given = servers.flatMap(({ space, facts }) => {
    const text = facts?.instructions;
    return text === undefined || text.trim() === "" ? [] : [{ space, text }];
  });
  const [only] = given;
  if (only === undefined) return undefined;
  if (servers.length === 1) return only.text;
  return given
    .map(({ space, text }) => `## ${space.name}\n\n${namesNote(space, naming)}${text.trim()}`)
    .join("\n\n");
}

/** The text speaks of names the server chose; the reader knows them with a prefix. */
function namesNote({ prefix }: ServerSpace, naming: Naming): string {
  return prefix === ""
    ? ""
    : `Its tools and prompts have names that begin with \`${exposedStart(prefix, naming)}\`.\n\n`;
}
