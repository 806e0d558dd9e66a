/** Formats a table that fits the terminal. */
import type { Writable } from "node:stream";
import { firstLine } from "./terminal-safe.js";

/** A cell, and its colour, applied after padding. */
export interface Cell {
  readonly text: string;
  readonly paint?: (text: string) => string;
  /**
   * In the first row, for its column, where the table is too wide: `keep` its width, or leave the column out, that of the highest
   * number first. Default: its texts are cut.
   */
  readonly narrow?: "keep" | number;
  /** Whether it ends where its column ends, as numbers do. */
  readonly isNumber?: boolean;
}

/** How a table is written. */
interface TableOptions {
  /** Before each line. */
  readonly indent?: string;
  /** A column is never wider than this (characters). Default: 60. */
  readonly longest?: number;
}

const MAX_CELL_LENGTH = 60;
/** Columns are left out before one whose texts are cut is narrower than this (characters). */
const MIN_CELL_LENGTH = 16;
const GAP = "  ";

/** The width of a terminal; undefined for other streams, which are never cut. */
export const widthOf = (stream: Writable): number | undefined =>
  "columns" in stream && typeof stream.columns === "number" && stream.columns > 0
    ? stream.columns
    : undefined;

/** Lines of aligned columns. Texts may come from servers: control characters are escaped. */
export function tableText(
  rows: readonly (readonly Cell[])[],
  width: number | undefined,
  { indent = "", longest = MAX_CELL_LENGTH }: TableOptions = {},
): string {
  const room = (width ?? Number.POSITIVE_INFINITY) - indent.length;
  const columns = columnsFor(rows, room, longest);
  return rows
    .map((row) => {
      let left = room;
      const cells = columns.flatMap(({ at, length }) => {
        if (left <= 0) return [];
        const { text = "", paint, isNumber = false } = row[at] ?? {};
        const own = Math.min(length, left);
        const cut = firstLine(text, own);
        const padded = isNumber ? cut.padStart(own) : cut.padEnd(own);
        left -= own + GAP.length;
        return [paint === undefined ? padded : paint(padded)];
      });
      return `${indent}${cells.join(GAP)}`.trimEnd().concat("\n");
    })
    .join("");
}

interface Column {
  /** Its place in the rows. */
  readonly at: number;
  readonly length: number;
  readonly narrow: Cell["narrow"];
}

/** The columns that are shown, and how wide each is. */
function columnsFor(rows: readonly (readonly Cell[])[], width: number, longest: number): readonly Column[] {
  let columns = (rows[0] ?? []).map(({ narrow }, at): Column => {
    // An audit log has more lines than a function has arguments.
    const length = rows.reduce(
      (most, row) => Math.max(most, firstLine(row[at]?.text ?? "", longest).length),
      0,
    );
    return { at, length, narrow };
  });
  const widthOfAll = (lengthOf: (column: Column) => number): number =>
    columns.reduce((sum, column) => sum + lengthOf(column) + GAP.length, -GAP.length);
  const least = ({ length, narrow }: Column): number =>
    narrow === undefined ? Math.min(length, MIN_CELL_LENGTH) : length;
  while (widthOfAll(least) > width) {
    const [first] = columns
      .filter(({ narrow }) => typeof narrow === "number")
      .sort((a, b) => Number(b.narrow) - Number(a.narrow));
    if (first === undefined) break;
    columns = columns.filter((column) => column !== first);
  }
  // On a terminal without room for that, texts are cut further.
  for (const floor of [MIN_CELL_LENGTH, MIN_CELL_LENGTH / 4]) {
    const isLong = ({ length, narrow }: Column): boolean => narrow === undefined && length > floor;
    while (widthOfAll(({ length }) => length) > width && columns.some(isLong)) {
      const widest = Math.max(...columns.filter(isLong).map(({ length }) => length));
      const cut = columns.findIndex((column) => isLong(column) && column.length === widest);
      columns = columns.map((column, at) => (at === cut ? { ...column, length: widest - 1 } : column));
    }
  }
  return columns;
}
