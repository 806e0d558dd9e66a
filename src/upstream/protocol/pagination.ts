/** Which entries does a list have over all its pages (server/utilities/pagination)? */
import { GatewayError } from "../../core/errors.js";
import { entryFlaw, type Flaw, type MalformedEntry, malformedEntry } from "../../core/list-entries.js";
import { LISTS, type ListKind } from "../../core/lists.js";
import type { Logger } from "../../core/logger.js";
import { nowOrInSteps } from "../../runtime/cooperative-yield.js";
import { type Envelope, PROTOTYPE_MEMBERS } from "../../wire/envelope.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { ListSize } from "./list-limits.js";
import { ListedBefore } from "./listed-before.js";

/** The maximum number of pages; a server with more is taken to return cursors in a loop. */
const MAX_PAGES = 1_000;
/** The maximum number of malformed entries that are reported for one list. */
const MAX_MALFORMED = 100;

/** Which list is fetched, and how. */
export interface PaginationSettings {
  readonly server: string;
  readonly kind: ListKind;
  readonly log: Logger;
  /** The entries of the list before, if there was one. */
  readonly before: readonly JsonObject[] | undefined;
  /** Requests one page, and resolves to the response; the first page has no parameters. */
  readonly request: (method: string, params?: JsonObject) => Promise<Envelope>;
}

/**
 * All items of all pages that hosts can read, in order; the others are in `malformed`, up to MAX_MALFORMED. A repeated
 * cursor, too many pages or entries end the list there, with a warning: half a list is of more use than none. A long list
 * is checked in steps.
 *
 * @throws GatewayError when the server answers with an error or without a list, or what `request` throws.
 */
export async function listAllPages(walk: PaginationSettings): Promise<{
  readonly items: readonly JsonObject[];
  readonly pages: readonly JsonObject[];
  readonly malformed: readonly MalformedEntry[];
}> {
  const { kind } = walk;
  const seen = new Set<string>();
  const items: JsonObject[] = [];
  const pages: JsonObject[] = [];
  const leftOut: MalformedEntry[] = [];
  const leaveOut = (one: MalformedEntry): void => {
    if (leftOut.length < MAX_MALFORMED) leftOut.push(one);
  };
  const size = new ListSize(kind);
  const listedBefore = new ListedBefore(kind, walk.before ?? []);
  let cursor: string | undefined;
  let position = 0;
  for (;;) {
    const { page, found, flaws } = await readPage(walk, cursor);
    pages.push(page);
    for (const [at, item] of found.entries()) {
      const counted = nowOrInSteps(size.add(item));
      const excess = counted instanceof Promise ? await counted : counted;
      if (excess === "full") {
        walk.log.warn(
          { server: walk.server, list: kind, entries: items.length },
          `${walk.server} lists more ${LISTS[kind].noun}s than the gateway takes; the list was cut`,
        );
        return { items, pages, malformed: [...leftOut, size.excess] };
      }
      const excluded = flaws.get(at) ?? excess;
      const known = excluded === undefined ? listedBefore.find(item) : undefined;
      const flaw = excluded ?? (known === undefined ? entryFlaw(kind, item) : undefined);
      if (flaw !== undefined) leaveOut(malformedEntry(kind, item, position, flaw));
      else if (isObject(item)) items.push(known ?? item);
      position += 1;
    }
    // An empty string is a cursor like any other (spec 2026-07-28: server/utilities/pagination).
    const next = page.nextCursor;
    if (typeof next !== "string") {
      if (next !== undefined && next !== null) leftOut.push(malformedCursor(kind, next));
      return { items, pages, malformed: leftOut };
    }
    if (seen.has(next) || pages.length >= MAX_PAGES) {
      walk.log.warn(
        { server: walk.server, list: walk.kind, pages: pages.length },
        "cursor loop or too many pages; the list was cut",
      );
      return { items, pages, malformed: leftOut };
    }
    seen.add(next);
    cursor = next;
  }
}

const malformedCursor = (list: ListKind, cursor: unknown): MalformedEntry => ({
  list,
  member: "nextCursor",
  reason: `must be a string, not a ${typeof cursor}; what comes after it is not listed`,
});

async function readPage(
  { server, kind, request }: PaginationSettings,
  cursor: string | undefined,
): Promise<{
  readonly page: JsonObject;
  readonly found: readonly unknown[];
  /** Flaws of the JSON text, by the index of their entry. */
  readonly flaws: ReadonlyMap<number, Flaw>;
}> {
  const { method } = LISTS[kind];
  const response = await request(method, cursor === undefined ? undefined : { cursor });
  const { error, result: page = {} } = response;
  // Servers with resources and without templates often do not implement the method.
  if (error?.code === CODE.methodNotFound) return { page, found: [], flaws: NO_FLAWS };
  const found = page[kind];
  if (error === undefined && Array.isArray(found)) {
    return { page, found, flaws: prototypeFlaws(kind, response) };
  }
  const how = error === undefined ? "without a list" : `with an error: ${error.message}`;
  throw new GatewayError("upstream_closed", "upstream", `${server} answered ${method} ${how}`, { server });
}

const NO_FLAWS: ReadonlyMap<number, Flaw> = new Map();

/** The entries of a page with members that set prototypes. */
function prototypeFlaws(kind: ListKind, response: Envelope): ReadonlyMap<number, Flaw> {
  const members = response[PROTOTYPE_MEMBERS];
  if (members === undefined) return NO_FLAWS;
  const flaws = new Map<number, Flaw>();
  for (const { path } of members) {
    const [, list, at, ...inside] = path;
    if (list !== kind || typeof at !== "number") continue;
    const member = inside.join(".").slice(0, MAX_PATH_LENGTH);
    flaws.set(at, { member, reason: "sets a prototype where JavaScript copies it" });
  }
  return flaws;
}

const MAX_PATH_LENGTH = 200;
