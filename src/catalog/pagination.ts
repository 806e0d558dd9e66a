/** Cursors into a list: which list, which revision of it, how far, and after what. */
import { LIST_KINDS, type ListKind } from "../core/lists.js";
import { parseJson, writeJson } from "../wire/json-text.js";

/** Items per page; the catalogs of most gateways fit on one. */
export const PAGE_SIZE = 1000;

/** A position in a merged list. */
export interface Cursor {
  readonly kind: ListKind;
  /** The revision of the list that the page before was cut from. */
  readonly revision: string;
  /** How many items have been given so far. */
  readonly offset: number;
  /** The exposed name of the last one given: finds the place again in a later revision. */
  readonly after: string;
}

/** The opaque text of a cursor. */
export function writeCursor({ kind, revision, offset, after }: Cursor): string {
  const text = writeJson([LIST_KINDS.indexOf(kind), revision, offset, after]);
  return Buffer.from(text, "utf8").toString("base64url");
}

/** Reads a cursor; undefined when `text` is none that this gateway writes. */
export function readCursor(text: string): Cursor | undefined {
  const fields = parse(text);
  if (!Array.isArray(fields) || fields.length !== 4) return undefined;
  const [index, revision, offset, after] = fields as readonly unknown[];
  const kind = typeof index === "number" ? LIST_KINDS[index] : undefined;
  if (kind === undefined || typeof revision !== "string" || typeof after !== "string") return undefined;
  if (typeof offset !== "number" || !Number.isSafeInteger(offset) || offset < 1) return undefined;
  const cursor = { kind, revision, offset, after };
  // One cursor, one text: whatever else decodes to the same was not written here.
  return writeCursor(cursor) === text ? cursor : undefined;
}

/** What a page is cut from. */
export interface PagedList {
  readonly revision: string;
  readonly length: number;
  /** Where the item with this exposed name stands; -1 when it is gone. */
  indexOf(exposed: string): number;
}

/**
 * Where the page of `cursor` begins in the list as it is now. In a later revision that is behind the item that
 * was given last, wherever it stands now; when that item is gone, as far in as before.
 */
export function pageStart(list: PagedList, cursor: Cursor): number {
  if (cursor.revision === list.revision) return Math.min(cursor.offset, list.length);
  const found = list.indexOf(cursor.after);
  return found >= 0 ? found + 1 : Math.min(cursor.offset, list.length);
}

function parse(text: string): unknown {
  try {
    return parseJson(Buffer.from(text, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}
