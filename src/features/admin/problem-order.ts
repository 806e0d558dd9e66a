/** In which order operators read problems. */
import type { ProblemRow } from "./rows.js";

const SEVERITIES: readonly ProblemRow["severity"][] = ["error", "warning", "note"];

/** Errors first, notes last; then the oldest, and rows without an age last. */
export const sorted = (rows: readonly ProblemRow[]): readonly ProblemRow[] =>
  rows.toSorted(
    (a, b) =>
      SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
      (a.since ?? "9").localeCompare(b.since ?? "9"),
  );

/** The worse one of two rows. */
export const worseOf = (a: ProblemRow, b: ProblemRow): ProblemRow =>
  SEVERITIES.indexOf(b.severity) < SEVERITIES.indexOf(a.severity) ? b : a;
