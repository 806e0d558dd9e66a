/** What `cardea.lock` holds, how it is written, and how it is read. */
import { LIST_KINDS, type ListKind } from "../../../core/lists.js";
import { isObject, isSame, type JsonObject, objectAt, stringAt, without } from "../../../wire/json.js";
import { exceedsDepth } from "../../../wire/json-scan.js";
import { parseJson, writeJson } from "../../../wire/json-text.js";
import { definitionDigest, definitionOf, nameOf, sortedKeys } from "./definition.js";

/** How a server is started: a package and its exact version, a program, or a URL. */
export interface StartLine {
  readonly package?: string;
  readonly version?: string;
  /** Of a package in an exact version: the arguments as the config has them, without the version. */
  readonly args?: readonly string[];
  /** Of such a package: the names of the variables that the config gives it, sorted. */
  readonly env?: readonly string[];
  readonly command?: string;
  readonly url?: string;
}

/** What is approved of one server. */
export interface ServerLock {
  readonly start: StartLine;
  /** What it calls itself. */
  readonly name?: string | undefined;
  readonly instructions?: string | undefined;
  /** Definitions by kind. An entry whose definition differs for other classes of clients is there once for each. */
  readonly lists: Readonly<Record<ListKind, readonly JsonObject[]>>;
}

/** The file. */
export interface Lock {
  readonly servers: ReadonlyMap<string, ServerLock>;
}

/** The version of the form that this build writes and reads. */
const LOCK_VERSION = 1;

/** The name of the file, beside the config. */
export const LOCK_FILE = "cardea.lock";

/** A larger file is not read (characters). */
export const MAX_LOCK_LENGTH = 268_435_456;

/** Deeper definitions are not compared; messages of servers have a lower limit. */
const MAX_DEPTH = 512;

/** A lock without servers. */
export const EMPTY_LOCK: Lock = { servers: new Map() };

/** Why the text of a lock cannot be used, as a sentence. */
export class LockError extends Error {
  override readonly name = "LockError";
}

/** The lists as they are kept: each definition once, by name, in an order that does not depend on that of the server. */
export function lockedLists(lists: Readonly<Record<ListKind, readonly JsonObject[]>>): ServerLock["lists"] {
  return Object.fromEntries(LIST_KINDS.map((kind) => [kind, lockedList(kind, lists[kind])])) as Record<
    ListKind,
    readonly JsonObject[]
  >;
}

function lockedList(kind: ListKind, items: readonly JsonObject[]): readonly JsonObject[] {
  const byDigest = new Map(items.map((item) => [definitionDigest(kind, item), item]));
  return [...byDigest]
    .map(([digest, item]) => ({ name: nameOf(kind, item), digest, item }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.digest, b.digest))
    .map(({ item }) => definitionOf(kind, item));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The text of the file: sorted keys, sorted entries, two spaces of indent, no time. Equal content has equal text. */
export function writeLock({ servers }: Lock): string {
  const written = [...servers]
    .sort(([a], [b]) => compare(a, b))
    .map(([name, server]) => [name, writtenServer(server)]);
  return `${writeJson({ version: LOCK_VERSION, servers: Object.fromEntries(written) }, 2)}\n`;
}

/** The members of a server in the file; empty lists are left out. */
export function writtenServer({ start, name, instructions, lists }: ServerLock): JsonObject {
  const kinds = LIST_KINDS.filter((kind) => lists[kind].length > 0);
  return {
    start: sortedKeys(start),
    ...(name !== undefined && { name }),
    ...(instructions !== undefined && { instructions }),
    ...Object.fromEntries(kinds.map((kind) => [kind, lockedList(kind, lists[kind]).map(sortedKeys)])),
  };
}

/** @throws LockError for a text that is no lock, or one of a later version */
export function readLock(text: string): Lock {
  const conflict = /^(?:<{7}|={7}|>{7})(?: |$)/m.exec(text);
  if (conflict !== null)
    throw new LockError(`line ${lineAt(text, conflict.index)} has a conflict marker of a merge; resolve it`);
  const file = parsed(text);
  const { version } = file;
  if (typeof version === "number" && version > LOCK_VERSION)
    throw new LockError(
      `it has version ${version}, and this build of Cardea reads version ${LOCK_VERSION}; update Cardea`,
    );
  if (version !== LOCK_VERSION)
    throw new LockError(`"version" must be ${LOCK_VERSION}; write the file with "cardea lock"`);
  const servers = objectAt(file, "servers");
  if (servers === undefined) throw new LockError('"servers" must be an object');
  return {
    servers: new Map(
      Object.entries(servers).map(([name, server]) => [name, readServer(server, `servers.${name}`)]),
    ),
  };
}

function parsed(text: string): JsonObject {
  if (exceedsDepth(text, MAX_DEPTH)) throw new LockError(`it is nested deeper than ${MAX_DEPTH}`);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new LockError(`it is no JSON: ${error instanceof Error ? error.message : "it cannot be parsed"}`);
  }
  if (!isObject(value)) throw new LockError("it is no JSON object");
  return value;
}

/** The content of one server. @throws LockError that names the place `at` */
export function readServer(value: unknown, at: string): ServerLock {
  if (!isObject(value)) throw new LockError(`${at} must be an object`);
  return {
    start: objectAt(value, "start") ?? {},
    name: stringAt(value, "name"),
    instructions: stringAt(value, "instructions"),
    lists: Object.fromEntries(
      LIST_KINDS.map((kind) => [kind, readList(value, kind, at)]),
    ) as ServerLock["lists"],
  };
}

function readList(server: JsonObject, kind: ListKind, at: string): readonly JsonObject[] {
  const list = Object.hasOwn(server, kind) ? server[kind] : [];
  if (!Array.isArray(list)) throw new LockError(`${at}.${kind} must be a list`);
  return list.map((item: unknown, place) => {
    if (!isObject(item) || nameOf(kind, item) === "")
      throw new LockError(`${at}.${kind}[${place}] must be an object with a name`);
    return item;
  });
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split("\n").length;

/** Members that only one of two start lines may know. */
const PARTIAL = ["version", "args", "env"] as const;

/** Whether the start line is the approved one: what one of them does not know is no difference, and none is approved without a line. */
export function isSameStart(a: StartLine, b: StartLine): boolean {
  if (Object.keys(a).length === 0) return true;
  const isSameMember = (key: (typeof PARTIAL)[number]): boolean =>
    a[key] === undefined || b[key] === undefined || isSame(a[key], b[key]);
  return isSame(without({ ...a }, PARTIAL), without({ ...b }, PARTIAL)) && PARTIAL.every(isSameMember);
}
