/** Cursors into a list: the list, its revision, the offset, and the last item. */
import { LIST_KINDS, type ListKind } from "../core/lists.js";
import { parseJson, writeJson } from "../wire/json-text.js";

/** Items per page; the lists of most gateways fit on one. */
export const PAGE_SIZE = 1000;

/** A position in a merged list. */
export interface Cursor {
  readonly kind: ListKind;
  /** The revision of the list of the previous page. */
  readonly revision: string;
  /** The number of items returned so far. */
  readonly offset: number;
  /** The exposed name of the last returned item: finds the position again in a later revision. */
  readonly after: string;
}

/** The opaque text of a cursor. */
export function writeCursor({ kind, revision, offset, after }: Cursor): string {
  const text = writeJson([LIST_KINDS.indexOf(kind), revision, offset, after]);
  return Buffer.from(text, "utf8").toString("base64url");
}

/** Parses a cursor; undefined if this gateway did not issue `text`. */
export function readCursor(text: string): Cursor | undefined {
  const fields = parse(text);
  if (!Array.isArray(fields) || fields.length !== 4) return undefined;
  const [index, revision, offset, after] = fields as readonly unknown[];
  const kind = typeof index === "number" ? LIST_KINDS[index] : undefined;
  if (kind === undefined || typeof revision !== "string" || typeof after !== "string") return undefined;
  if (typeof offset !== "number" || !Number.isSafeInteger(offset) || offset < 1) return undefined;
  const cursor = { kind, revision, offset, after };
  // Canonical form only: other texts that decode to the same were not issued here.
  return writeCursor(cursor) === text ? cursor : undefined;
}

/** The list of a page. */
export interface PagedList {
  readonly revision: string;
  readonly length: number;
  /** The index of the item with this exposed name; -1 if it is gone. */
  indexOf(exposed: string): number;
}

/**
 * The start of the page of `cursor` in the current list. In a later revision that is after the last returned item,
 * wherever it is now; if that item is gone, the old offset.
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
