/** How does the gateway describe itself to one client? By what the servers in its view say, as far as hosts can read it. */
import type { ServerDescription } from "../core/gateway-api.js";
import { implementationFlaw } from "../core/list-entries.js";
import { LISTS_OF_CAPABILITY, type ListKind } from "../core/lists.js";
import type { ServerFacts } from "../core/upstream.js";
import { isObject, type JsonObject, objectAt, without } from "../wire/json.js";
import { exposedPrefix, type Naming } from "./naming.js";
import type { ServerNamespace } from "./server-namespace.js";
import { toolOverview } from "./tool-overview.js";

/** One server of the view, as far as it was met. */
interface DescribedServer {
  readonly space: ServerNamespace;
  /** Undefined while it was never met. */
  readonly facts: ServerFacts | undefined;
  /** False when filters leave nothing of what the server lists. */
  readonly hasVisible: (kind: ListKind) => boolean;
  /** How many of its tools the client sees; absent while its list is not known. */
  readonly tools?: number | undefined;
}

/** How the client learns of tools: `search`: its list does not show them; `deferred`: its host loads definitions on demand. */
export type ToolAccess = "listed" | "deferred" | "search";

const NONE: JsonObject = {};

/** The server description for a client whose view has these servers. */
export function describeServers(
  servers: readonly DescribedServer[],
  self: JsonObject,
  naming: Naming,
  access: ToolAccess = "listed",
): ServerDescription {
  const [only, second] = servers;
  // Seen alone and under its own names, a server is met as if nothing stood in between.
  const alone = second === undefined && only?.space.prefix === "" ? only.facts : undefined;
  const instructions = instructionsOf(servers, naming, access);
  return {
    serverInfo: readableInfo(alone?.serverInfo) ?? self,
    capabilities: capabilitiesOf(servers, access),
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

function capabilitiesOf(servers: readonly DescribedServer[], access: ToolAccess): JsonObject {
  let union: JsonObject = {};
  for (const { facts, hasVisible } of servers) {
    for (const [key, value] of Object.entries(readableCapabilities(facts?.capabilities ?? NONE))) {
      const kinds = LISTS_OF_CAPABILITY.get(key);
      if (kinds !== undefined && !kinds.some(hasVisible)) continue;
      union = {
        ...union,
        [key]: mergeCapabilities(Object.hasOwn(union, key) ? union[key] : undefined, value),
      };
    }
  }
  // A server that was never connected may bring any of these, and clients request only what was advertised.
  const unmet = servers.some(({ facts }) => facts === undefined);
  for (const key of LISTS_OF_CAPABILITY.keys()) {
    const isOwn = key === "tools" && access === "search";
    if (unmet || isOwn || Object.hasOwn(union, key)) {
      union = { ...union, [key]: { ...objectAt(union, key), listChanged: true } };
    }
  }
  return withoutUnbackedSkills(withoutPartialTasks(union, servers));
}

/**
 * Which tools can be run as tasks is said tool by tool, but that tasks can be listed or cancelled is a promise
 * about every task: it holds only where every server with tasks makes it.
 */
function withoutPartialTasks(union: JsonObject, servers: readonly DescribedServer[]): JsonObject {
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
function withoutUnbackedSkills(union: JsonObject): JsonObject {
  const extensions = objectAt(union, "extensions");
  if (extensions === undefined || Object.hasOwn(union, "resources")) return union;
  return { ...union, extensions: without(extensions, ["io.modelcontextprotocol/skills"]) };
}

/** The union of two capability trees: `true` wins, of other values the first. */
function mergeCapabilities(first: unknown, second: unknown): unknown {
  if (first === undefined || first === false) return second;
  if (!isObject(first) || !isObject(second)) return first;
  let union = first;
  for (const [key, value] of Object.entries(second)) {
    union = { ...union, [key]: mergeCapabilities(Object.hasOwn(union, key) ? union[key] : undefined, value) };
  }
  return union;
}

/**
 * What all servers say. Where tools are searched for, a line for each server takes its place, as that of one server alone
 * may be longer than a model should read for all of them; a host that defers definitions searches by these texts.
 */
function instructionsOf(
  servers: readonly DescribedServer[],
  naming: Naming,
  access: ToolAccess,
): string | undefined {
  if (access === "listed") return ownInstructions(servers, naming);
  const overview = toolOverview(
    servers.map(({ space, facts, tools }) => ({ name: space.name, facts, tools })),
    access === "deferred",
  );
  const own = access === "search" && servers.length > 1 ? undefined : ownInstructions(servers, naming);
  const texts = [overview, own].filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : texts.join("\n\n");
}

function ownInstructions(servers: readonly DescribedServer[], naming: Naming): string | undefined {
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
function namesNote({ prefix }: ServerNamespace, naming: Naming): string {
  return prefix === ""
    ? ""
    : `Its tools and prompts have names that begin with \`${exposedPrefix(prefix, naming)}\`.\n\n`;
}

/** What hosts can make of a member; undefined where it is left out. */
type Reader = (value: unknown) => unknown;

const object: Reader = (value) => (isObject(value) ? value : undefined);
const flag: Reader = (value) => (typeof value === "boolean" ? value : undefined);

/** An object; the members that are listed here are checked, all others are kept. */
const shape =
  (members: Readonly<Record<string, Reader>>): Reader =>
  (value) =>
    isObject(value)
      ? mapped(value, (key) => (Object.hasOwn(members, key) ? members[key] : undefined))
      : undefined;

/** An object whose members are all of one kind. */
const mapOf =
  (read: Reader): Reader =>
  (value) =>
    isObject(value) ? mapped(value, () => read) : undefined;

/** A server that says only `true` means that it has them. */
const lists =
  (read: Reader): Reader =>
  (value) =>
    read(value === true ? {} : value);

/** `ServerCapabilities` of all revisions, as the official SDKs read it. */
const CAPABILITIES = shape({
  experimental: mapOf(object),
  extensions: mapOf(object),
  logging: object,
  completions: object,
  tools: lists(shape({ listChanged: flag })),
  prompts: lists(shape({ listChanged: flag })),
  resources: lists(shape({ listChanged: flag, subscribe: flag })),
  tasks: shape({
    list: object,
    cancel: object,
    requests: shape({ tools: shape({ call: object }) }),
  }),
});

const cache = new WeakMap<JsonObject, JsonObject>();

/** The capabilities without what hosts cannot read; capabilities that no revision defines stay. */
function readableCapabilities(capabilities: JsonObject): JsonObject {
  const before = cache.get(capabilities);
  if (before !== undefined) return before;
  const read = CAPABILITIES(capabilities) as JsonObject;
  cache.set(capabilities, read);
  return read;
}

/** The members of `value`, checked by `readOf`; the same object where all are kept. */
function mapped(value: JsonObject, readOf: (key: string) => Reader | undefined): JsonObject {
  let changed = false;
  const entries = Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const read = readOf(key);
    const shown = read === undefined ? member : read(member);
    changed ||= shown !== member;
    return shown === undefined ? [] : [[key, shown]];
  });
  return changed ? Object.fromEntries(entries) : value;
}
