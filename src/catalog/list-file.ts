/** How is what is known of a server written into a file, and when is such a file trusted? */
import { entryFlaw, type Flaw, type MalformedEntry } from "../core/list-entries.js";
import { LIST_KINDS, type ListKind } from "../core/lists.js";
import { exceedsDepth } from "../wire/depth.js";
import { isObject, type JsonObject, stringAt } from "../wire/json.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import type { KnownList, KnownServer } from "./known-lists.js";

/** Authenticates a file: 64 hexadecimal digits that depend on every byte of both parts, and on the server. */
export type Seal = (head: string, body: string | Uint8Array) => string;

/** A change that other versions could misread changes the number; they ignore the file then. */
const FORMAT = 1;
/** Larger files are neither written nor read: reading them would delay the start. */
export const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Far above what servers nest, and far below a stack overflow. */
const MAX_DEPTH = 512;
/** How many scopes a file holds; those of the least recent hosts are left out. */
const MAX_SCOPES = 50;

/** The first line: name, format and version of the writer, then the seal. */
const HEAD = /^(cardea-lists (\d{1,9}) ([\w.+-]{1,64})) ([\da-f]{64})$/;
const MAX_HEAD_BYTES = 256;
const NEWLINE = 10;

/** What was read, or why nothing was, as the end of a sentence about the file. */
export type ListFileContent =
  | { readonly ok: true; readonly server: KnownServer }
  | { readonly ok: false; readonly reason: string };

/**
 * The text of the file; `version` is that of the gateway. Undefined where the file would be too large or nested too
 * deeply to be read again.
 */
export function encodeListFile(
  { scopes, startFailed, memory }: KnownServer,
  version: string,
  seal: Seal,
): string | undefined {
  const lists = new WrittenLists();
  const places = [...scopes].slice(0, MAX_SCOPES).map(([scope, known]) => ({
    scope,
    lists: LIST_KINDS.flatMap((kind) => {
      const list = known.get(kind);
      return list === undefined ? [] : [lists.placeOf(kind, list)];
    }),
  }));
  const body = textFor({ memory, startFailed, scopes: places, lists: lists.all });
  if (body === undefined || exceedsDepth(body, MAX_DEPTH)) return undefined;
  const head = `cardea-lists ${FORMAT} ${version}`;
  const text = `${head} ${seal(head, body)}\n${body}`;
  return Buffer.byteLength(text) > MAX_FILE_BYTES ? undefined : text;
}

/** Undefined where it is nested too deeply for the stack. */
function textFor(content: JsonObject): string | undefined {
  try {
    return writeJson(content);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The lists of a file; one that several scopes share is written once. */
class WrittenLists {
  readonly all: JsonObject[] = [];
  readonly #places = new Map<ListKind, Map<KnownList, number>>();

  placeOf(kind: ListKind, list: KnownList): number {
    const places = this.#places.get(kind) ?? new Map<KnownList, number>();
    this.#places.set(kind, places);
    const known = places.get(list);
    if (known !== undefined) return known;
    const { items, malformed, freshness, hasTtl, fetchedAt } = list;
    const { ttlMs, scope: cacheScope } = freshness;
    places.set(list, this.all.length);
    return this.all.push({ kind, items, malformed, ttlMs, cacheScope, hasTtl, fetchedAt }) - 1;
  }
}

/**
 * Reads what `encodeListFile` wrote with the same seal. Entries are checked as when a server lists them. Never throws:
 * everything else is refused with a reason.
 */
export function decodeListFile(bytes: Uint8Array, seal: Seal): ListFileContent {
  try {
    return { ok: true, server: readServer(parseJson(openBody(bytes, seal))) };
  } catch (error) {
    if (error instanceof RefusedFile) return { ok: false, reason: error.message };
    if (error instanceof SyntaxError) return { ok: false, reason: "it is not JSON" };
    throw error;
  }
}

/** Why a file is not used. */
class RefusedFile extends Error {
  override readonly name = "RefusedFile";
}

/** The body of a file whose format and seal are right. @throws RefusedFile */
function openBody(bytes: Uint8Array, seal: Seal): string {
  if (bytes.length > MAX_FILE_BYTES) {
    throw new RefusedFile(`it is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB`);
  }
  const end = bytes.subarray(0, MAX_HEAD_BYTES).indexOf(NEWLINE);
  const [, head, format, version, sealed] = HEAD.exec(textOf(bytes.subarray(0, Math.max(end, 0)))) ?? [];
  if (head === undefined) throw new RefusedFile("it was cut, damaged or edited: its first line is wrong");
  if (Number(format) !== FORMAT) {
    throw new RefusedFile(`Cardea ${version} wrote it in format ${format}; this version reads ${FORMAT}`);
  }
  const body = bytes.subarray(end + 1);
  if (seal(head, body) !== sealed) {
    throw new RefusedFile("it was cut, damaged or edited: its checksum is wrong");
  }
  const text = textOf(body);
  if (exceedsDepth(text, MAX_DEPTH)) throw new RefusedFile("it is nested too deeply");
  return text;
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");

/** @throws RefusedFile naming the first member that is not as it is written. */
function readServer(value: unknown): KnownServer {
  const whole = objectOf(value, "its content");
  const { memory, startFailed } = whole;
  if (typeof startFailed !== "boolean") throw unusable("startFailed");
  const lists = listAt(whole, "lists", "lists").map((one, at) => readList(one, `lists[${at}]`));
  const scopes = listAt(whole, "scopes", "scopes").map((one, at) => readScope(one, lists, `scopes[${at}]`));
  if (scopes.length > MAX_SCOPES) throw unusable("scopes");
  return {
    ...(memory !== undefined && { memory: objectOf(memory, "memory") }),
    startFailed,
    scopes: new Map(scopes),
  };
}

interface ReadList {
  readonly kind: ListKind;
  readonly list: KnownList;
}

function readList(value: unknown, at: string): ReadList {
  const given = objectOf(value, at);
  const kind = LIST_KINDS.find((each) => each === given.kind);
  if (kind === undefined) throw unusable(`${at}.kind`);
  const { ttlMs, cacheScope, hasTtl, fetchedAt } = given;
  if (!isDuration(ttlMs)) throw unusable(`${at}.ttlMs`);
  if (cacheScope !== "public" && cacheScope !== "private") throw unusable(`${at}.cacheScope`);
  if (typeof hasTtl !== "boolean") throw unusable(`${at}.hasTtl`);
  if (!isDuration(fetchedAt)) throw unusable(`${at}.fetchedAt`);
  const items = listAt(given, "items", `${at}.items`).map((item, place) => {
    const flaw = entryFlaw(kind, item);
    if (flaw !== undefined) throw unusable(`${at}.items[${place}]`, flaw);
    return objectOf(item, `${at}.items[${place}]`);
  });
  const malformed = listAt(given, "malformed", `${at}.malformed`).map((one, place) =>
    readMalformed(one, kind, `${at}.malformed[${place}]`),
  );
  const list: KnownList = { items, malformed, freshness: { ttlMs, scope: cacheScope }, hasTtl, fetchedAt };
  return { kind, list };
}

function readMalformed(value: unknown, list: ListKind, at: string): MalformedEntry {
  const given = objectOf(value, at);
  const [name, member, reason] = [
    stringAt(given, "name"),
    stringAt(given, "member"),
    stringAt(given, "reason"),
  ];
  if (member === undefined || reason === undefined) throw unusable(at);
  return { list, ...(name !== undefined && { name }), member, reason };
}

function readScope(
  value: unknown,
  lists: readonly ReadList[],
  at: string,
): readonly [string, ReadonlyMap<ListKind, KnownList>] {
  const given = objectOf(value, at);
  const scope = stringAt(given, "scope");
  if (scope === undefined) throw unusable(`${at}.scope`);
  const kinds = listAt(given, "lists", `${at}.lists`).map((place): readonly [ListKind, KnownList] => {
    const read = typeof place === "number" ? lists[place] : undefined;
    if (read === undefined) throw unusable(`${at}.lists`);
    return [read.kind, read.list];
  });
  return [scope, new Map(kinds)];
}

function objectOf(value: unknown, at: string): JsonObject {
  if (!isObject(value)) throw unusable(at);
  return value;
}

function listAt(object: JsonObject, key: string, at: string): readonly unknown[] {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  if (!Array.isArray(value)) throw unusable(at);
  return value;
}

/** A number of milliseconds. */
const isDuration = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;

function unusable(at: string, flaw?: Flaw): RefusedFile {
  const why = flaw === undefined ? "" : ` (${flaw.member} ${flaw.reason})`;
  return new RefusedFile(`${at} is not what this version writes${why}`);
}
