/** Why a config cannot be served by several workers. */
import type { Config } from "./config.js";

/** A sentence; undefined where nothing is in the way. */
export function workersConflict({ limits = [] }: Pick<Config, "limits">): string | undefined {
  // Each worker would count for itself, and a limit that lets several times as much through is none.
  const counting = limits.find(
    ({ rate, quota, concurrency }) => rate !== undefined || quota !== undefined || concurrency !== undefined,
  );
  if (counting === undefined) return undefined;
  return `several workers cannot count together what the limit "${counting.name}" counts: serve without --workers, or without it`;
}
