/** How is a table written that fits the terminal? */
import type { Writable } from "node:stream";
import { firstLine } from "./terminal-safe.js";

/** One cell, and how it is painted once it has its width. */
export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

/** A column is cut to this (characters) where the table is too wide; the last one takes what is left. */
const MAX_CELL_LENGTH = 60;
const GAP = "  ";

/** The width of a terminal; undefined for a stream that is none, where nothing is cut. */
export const widthOf = (stream: Writable): number | undefined =>
  "columns" in stream && typeof stream.columns === "number" && stream.columns > 0
    ? stream.columns
    : undefined;

/** Lines of equal columns. The texts come from servers too: what steers a terminal is escaped. */
export function tableText(rows: readonly (readonly Cell[])[], width: number | undefined): string {
  const texts = rows.map((row) => row.map(({ text }) => firstLine(text, MAX_CELL_LENGTH)));
  const widths = (texts[0] ?? []).map((_, at) => Math.max(...texts.map((row) => row[at]?.length ?? 0)));
  return rows
    .map((row, y) => {
      let left = width ?? Number.POSITIVE_INFINITY;
      const cells = row.flatMap((cell, x) => {
        if (left <= 0) return [];
        const isLast = x === row.length - 1;
        const padded = (texts[y]?.[x] ?? "").padEnd(isLast ? 0 : (widths[x] ?? 0));
        const cut = padded.length > left ? firstLine(padded, left) : padded;
        left -= cut.length + GAP.length;
        return [cell.paint === undefined ? cut : cell.paint(cut)];
      });
      return `${cells.join(GAP).trimEnd()}\n`;
    })
    .join("");
}
