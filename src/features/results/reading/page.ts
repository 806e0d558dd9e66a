/** Which lines or items are on a page that fits the budget? */
import { writeJson } from "../../../wire/json-text.js";
import { previewJson } from "../preview/preview-json.js";
import type { Document } from "./document.js";
import { clipped, escapedLength } from "./escaped.js";
import { extended, isContainer } from "./json-document.js";
import { Lines } from "./lines.js";

/** Where a page begins, and how much is on it at most. */
export interface PageQuery {
  readonly offset: number;
  readonly limit: number;
  /** In characters of a JSON string. */
  readonly room: number;
}

/** A page. */
export interface Page {
  readonly text: string;
  readonly total: number;
  readonly offset: number;
  /** Undefined on the last page. */
  readonly next: number | undefined;
  readonly unit: "lines" | "items";
}

/** The longest line in a budget of `characters`; part of what offsets mean, so it depends on nothing else. */
export const lineWidth = (characters: number): number => Math.min(1_000, Math.floor(characters / 4));

/** The page of a document. @param width the longest line */
export const pageOf = (document: Document, query: PageQuery, width: number): Page =>
  document.unit === "lines"
    ? pageOfLines(new Lines(document.text, width), query)
    : pageOfItems(document.value, document.pointer, query);

function pageOfLines(lines: Lines, { offset, limit, room }: PageQuery): Page {
  const texts: string[] = [];
  let left = room;
  let at = offset;
  for (; at < lines.count && texts.length < limit; at += 1) {
    const line = lines.line(at);
    left -= escapedLength(line) + BREAK;
    if (left < 0 && texts.length > 0) break;
    texts.push(line);
  }
  return pageFrom({ text: texts.join("\n"), offset, at, total: lines.count, unit: "lines" });
}

function pageOfItems(
  value: Extract<Document, { readonly unit: "items" }>["value"],
  pointer: string,
  { offset, limit, room }: PageQuery,
): Page {
  const isList = Array.isArray(value);
  const keys = isList ? undefined : Object.keys(value);
  const total = keys?.length ?? (value as readonly unknown[]).length;
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  const texts: string[] = [];
  let left = room - 2;
  let at = offset;
  for (; at < total && texts.length < limit; at += 1) {
    const key = keys?.[at];
    const item =
      key === undefined ? (value as readonly unknown[])[at] : (value as Record<string, unknown>)[key];
    const lead = key === undefined ? "" : `${writeJson(key)}:`;
    const text = lead + writeJson(item);
    const size = text.length > left ? text.length : escapedLength(text) + ITEM_BREAK;
    if (size > left) {
      if (texts.length > 0) break;
      // Alone it does not fit either: a preview, and the path that reads it.
      const path = extended(pointer, key ?? at);
      const note = `\n(a preview of ${text.length} characters; path ${writeJson(clipped(path, room / 4))} reads it)`;
      const rest = left - escapedLength(lead) - escapedLength(note);
      const preview = isContainer(item) ? previewJson(item, rest) : clipped(writeJson(item), rest);
      return pageFrom({
        text: open + lead + preview + close + note,
        offset,
        at: at + 1,
        total,
        unit: "items",
      });
    }
    left -= size;
    texts.push(text);
  }
  const text = `${open}${texts.join(",\n")}${close}`;
  return pageFrom({ text, offset, at, total, unit: "items" });
}

/** A line break in a JSON string. */
const BREAK = 2;
const ITEM_BREAK = 3;

const pageFrom = ({ at, ...page }: Omit<Page, "next"> & { readonly at: number }): Page => ({
  ...page,
  next: at < page.total ? at : undefined,
});
