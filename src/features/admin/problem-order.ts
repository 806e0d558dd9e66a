/** In which order operators read problems. */
import type { ProblemRow } from "./rows.js";

/** Errors first, then the oldest; rows without an age last. */
export const sorted = (rows: readonly ProblemRow[]): readonly ProblemRow[] =>
  rows.toSorted(
    (a, b) =>
      Number(b.severity === "error") - Number(a.severity === "error") ||
      (a.since ?? "9").localeCompare(b.since ?? "9"),
  );
