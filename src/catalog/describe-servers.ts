/** The server description for one client (capabilities, name, instructions), merged from the servers in its view. */
import type { ServerDescription } from "../core/gateway-api.js";
import { implementationFlaw } from "../core/list-entries.js";
import type { ToolIntroduction } from "../core/list-transform.js";
import { LISTS_OF_CAPABILITY, type ListKind } from "../core/lists.js";
import type { ServerFacts } from "../core/upstream.js";
import { isObject, type JsonObject, objectAt, without } from "../wire/json.js";
import { exposedPrefix, type Naming } from "./naming.js";
import type { ServerNamespace } from "./server-namespace.js";

/** One server of the view. */
interface DescribedServer {
  readonly space: ServerNamespace;
  /** Undefined before its first connection. */
  readonly facts: ServerFacts | undefined;
  /** False if filters leave no entry of the server. */
  readonly hasVisible: (kind: ListKind) => boolean;
}

const NONE: JsonObject = {};

/** The server description for a client whose view has these servers. */
export function describeServers(
  servers: readonly DescribedServer[],
  self: JsonObject,
  naming: Naming,
  tools?: ToolIntroduction,
  hasFollowedResources = false,
): ServerDescription {
  const [only, second] = servers;
  // Alone and with its own names, a server is presented as if there were no gateway.
  const alone = second === undefined && only?.space.prefix === "" ? only.facts : undefined;
  const instructions = instructionsOf(servers, naming, tools);
  return {
    serverInfo: readableInfo(alone?.serverInfo) ?? self,
    capabilities: withFollowedResources(
      capabilitiesOf(servers, ownCapabilities(tools)),
      hasFollowedResources,
    ),
    ...(instructions !== undefined && { instructions }),
  };
}

/** `isSo`: the gateway has resources of its own that hosts can follow. */
const withFollowedResources = (capabilities: JsonObject, isSo: boolean): JsonObject =>
  isSo
    ? {
        ...capabilities,
        resources: { ...objectAt(capabilities, "resources"), listChanged: true, subscribe: true },
      }
    : capabilities;

/** Without members that hosts cannot read; undefined if server name or version are missing. */
function readableInfo(info: JsonObject | undefined): JsonObject | undefined {
  let readable = info;
  for (let flaw = implementationFlaw(readable); flaw !== undefined; flaw = implementationFlaw(readable)) {
    const [key = ""] = flaw.member.split(/[.[]/, 1);
    if (readable === undefined || !Object.hasOwn(readable, key)) return undefined;
    readable = without(readable, [key]);
  }
  return readable;
}

/** The capabilities that the gateway has whatever its servers have. */
const ownCapabilities = (tools: ToolIntroduction | undefined): ReadonlySet<string> =>
  new Set([
    ...(tools?.hasOwnTools === true ? ["tools"] : []),
    ...(tools?.hasOwnResources === true ? ["resources"] : []),
  ]);

function capabilitiesOf(servers: readonly DescribedServer[], own: ReadonlySet<string>): JsonObject {
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
  // A server that has never connected may have any of these, and clients request only advertised ones.
  const unmet = servers.some(({ facts }) => facts === undefined);
  for (const key of LISTS_OF_CAPABILITY.keys()) {
    if (unmet || own.has(key) || Object.hasOwn(union, key)) {
      union = { ...union, [key]: { ...objectAt(union, key), listChanged: true } };
    }
  }
  return withoutUnbackedSkills(withoutPartialTasks(union, servers));
}

/**
 * Task support of tools is declared per tool, but listing and cancelling tasks apply to every task: they are advertised
 * only if every server with tasks supports them.
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

/** Skills are read as resources (SEP-2640): without visible resources they are not advertised. */
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

/** The instructions of all servers, below what is said of their tools. */
function instructionsOf(
  servers: readonly DescribedServer[],
  naming: Naming,
  tools: ToolIntroduction | undefined,
): string | undefined {
  if (tools === undefined) return ownInstructions(servers, naming);
  const own = tools.isInstead && servers.length > 1 ? undefined : ownInstructions(servers, naming);
  const texts = [tools.text, own].filter((text) => text !== undefined);
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

/** The text uses the server's own names; the reader sees them with a prefix. */
function namesNote({ prefix }: ServerNamespace, naming: Naming): string {
  return prefix === ""
    ? ""
    : `Its tools and prompts have names that begin with \`${exposedPrefix(prefix, naming)}\`.\n\n`;
}

/** The readable part of a member; undefined if it is omitted. */
type Reader = (value: unknown) => unknown;

const object: Reader = (value) => (isObject(value) ? value : undefined);
const flag: Reader = (value) => (typeof value === "boolean" ? value : undefined);

/** An object; the listed members are checked, all others are kept. */
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

/** `true` instead of an object declares the capability. */
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

/** The members of `value`, checked by `readOf`; the same object if all are kept. */
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
