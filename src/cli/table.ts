/** Formats a table that fits the terminal. */
import type { Writable } from "node:stream";
import { firstLine } from "./terminal-safe.js";

/** A cell, and its colour, applied after padding. */
export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

/** Maximum column width (characters) if the table is too wide; the last column gets the rest. */
const MAX_CELL_LENGTH = 60;
const GAP = "  ";

/** The width of a terminal; undefined for other streams, which are never cut. */
export const widthOf = (stream: Writable): number | undefined =>
  "columns" in stream && typeof stream.columns === "number" && stream.columns > 0
    ? stream.columns
    : undefined;

/** Lines of aligned columns. Texts may come from servers: control characters are escaped. */
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
