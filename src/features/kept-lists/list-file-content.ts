/** The JSON form of a server's cached lists, and its validation. */
import { entryFlaw, type Flaw, type MalformedEntry } from "../../core/list-entries.js";
import { LIST_KINDS, type ListKind } from "../../core/lists.js";
import type { PersistedList, PersistedServer } from "../../core/persisted-lists.js";
import { isObject, type JsonObject, stringAt } from "../../wire/json.js";
import { exceedsDepth } from "../../wire/json-scan.js";
import { writeJson } from "../../wire/json-text.js";

/** The number of cached scopes; those of the least recent hosts are dropped. */
const MAX_SCOPES = 50;
/** Far above the nesting of real servers, and far below a stack overflow. */
export const MAX_DEPTH = 512;
/** The brackets of the content around a list entry. */
const DEPTH_OF_ENTRIES = 4;

/** A server's cached lists, as JSON in pieces; a list that several scopes share is written once. */
export class ListFileContent {
  readonly #server: PersistedServer;
  readonly #lists: { readonly kind: ListKind; readonly list: PersistedList }[] = [];

  constructor(server: PersistedServer) {
    this.#server = server;
  }

  /** @throws RangeError if something is nested more deeply than MAX_DEPTH */
  *pieces(): Generator<string, void> {
    const { memory, startFailed, scopes } = this.#server;
    const places = [...scopes].slice(0, MAX_SCOPES).map(([scope, known]) => ({
      scope,
      lists: LIST_KINDS.flatMap((kind) => {
        const list = known.get(kind);
        return list === undefined ? [] : [this.#placeOf(kind, list)];
      }),
    }));
    yield `${boundedText({ memory, startFailed, scopes: places }).slice(0, -1)},"lists":[`;
    for (const [place, { kind, list }] of this.#lists.entries()) {
      yield `${place === 0 ? "" : ","}{"kind":"${kind}","items":[`;
      for (const [at, item] of list.items.entries()) yield `${at === 0 ? "" : ","}${boundedText(item)}`;
      const { malformed, freshness, hasTtl } = list;
      const { ttlMs, scope: cacheScope } = freshness;
      yield `],${writeJson({ malformed, ttlMs, cacheScope, hasTtl }).slice(1)}`;
    }
    yield "]}";
  }

  /** When each of the lists was loaded, in ms since 1970; complete after all pieces. */
  get times(): readonly number[] {
    return this.#lists.map(({ list }) => list.fetchedAt);
  }

  #placeOf(kind: ListKind, list: PersistedList): number {
    const place = this.#lists.findIndex((one) => one.kind === kind && one.list === list);
    return place >= 0 ? place : this.#lists.push({ kind, list }) - 1;
  }
}

function boundedText(value: JsonObject): string {
  const text = writeJson(value);
  if (exceedsDepth(text, MAX_DEPTH - DEPTH_OF_ENTRIES)) throw new RangeError("nested too deeply");
  return text;
}

/** The JSON does not have the form of `ListFileContent`. */
export class UnusableContent extends Error {
  override readonly name = "UnusableContent";
  /** `at` is the path of the member; `flaw` what is wrong with a list entry. */
  constructor(at: string, flaw?: Flaw) {
    const why = flaw === undefined ? "" : ` (${flaw.member} ${flaw.reason})`;
    super(`${at} is not what this version writes${why}`);
  }
}

/** The cached lists, from their JSON. @throws UnusableContent */
export function readContent(known: unknown, times: unknown): PersistedServer {
  const whole = objectOf(known, "its content");
  const { memory, startFailed } = whole;
  if (typeof startFailed !== "boolean") throw new UnusableContent("startFailed");
  if (!Array.isArray(times)) throw new UnusableContent("times");
  const lists = listAt(whole, "lists", "lists").map((one, at) => readList(one, times[at], `lists[${at}]`));
  const scopes = listAt(whole, "scopes", "scopes").map((one, at) => readScope(one, lists, `scopes[${at}]`));
  if (scopes.length > MAX_SCOPES) throw new UnusableContent("scopes");
  return {
    ...(memory !== undefined && { memory: objectOf(memory, "memory") }),
    startFailed,
    scopes: new Map(scopes),
  };
}

interface ReadList {
  readonly kind: ListKind;
  readonly list: PersistedList;
}

function readList(value: unknown, fetchedAt: unknown, at: string): ReadList {
  const given = objectOf(value, at);
  const kind = LIST_KINDS.find((each) => each === given.kind);
  if (kind === undefined) throw new UnusableContent(`${at}.kind`);
  const { ttlMs, cacheScope: scope, hasTtl } = given;
  if (!isMilliseconds(ttlMs)) throw new UnusableContent(`${at}.ttlMs`);
  if (scope !== "public" && scope !== "private") throw new UnusableContent(`${at}.cacheScope`);
  if (typeof hasTtl !== "boolean") throw new UnusableContent(`${at}.hasTtl`);
  if (!isMilliseconds(fetchedAt)) throw new UnusableContent("times");
  const items = listAt(given, "items", `${at}.items`).map((item, place) => {
    const flaw = entryFlaw(kind, item);
    if (flaw !== undefined) throw new UnusableContent(`${at}.items[${place}]`, flaw);
    return objectOf(item, `${at}.items[${place}]`);
  });
  const malformed = listAt(given, "malformed", `${at}.malformed`).map((one, place) =>
    readMalformed(one, kind, `${at}.malformed[${place}]`),
  );
  return { kind, list: { items, malformed, freshness: { ttlMs, scope }, hasTtl, fetchedAt } };
}

function readMalformed(value: unknown, list: ListKind, at: string): MalformedEntry {
  const given = objectOf(value, at);
  const [name, member, reason] = ["name", "member", "reason"].map((key) => stringAt(given, key));
  if (member === undefined || reason === undefined) throw new UnusableContent(at);
  return { list, ...(name !== undefined && { name }), member, reason };
}

function readScope(
  value: unknown,
  lists: readonly ReadList[],
  at: string,
): readonly [string, ReadonlyMap<ListKind, PersistedList>] {
  const given = objectOf(value, at);
  const scope = stringAt(given, "scope");
  if (scope === undefined) throw new UnusableContent(`${at}.scope`);
  const kinds = listAt(given, "lists", `${at}.lists`).map((place): readonly [ListKind, PersistedList] => {
    const read = typeof place === "number" ? lists[place] : undefined;
    if (read === undefined) throw new UnusableContent(`${at}.lists`);
    return [read.kind, read.list];
  });
  return [scope, new Map(kinds)];
}

function objectOf(value: unknown, at: string): JsonObject {
  if (!isObject(value)) throw new UnusableContent(at);
  return value;
}

function listAt(object: JsonObject, key: string, at: string): readonly unknown[] {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  if (!Array.isArray(value)) throw new UnusableContent(at);
  return value;
}

const isMilliseconds = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
