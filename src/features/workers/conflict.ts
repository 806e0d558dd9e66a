/** Why can several workers not serve a config? */
import type { ServingConflict } from "../../cli/serving-mode.js";
import type { Config } from "../../config/config.js";

/** Undefined if they can. `countTogether`: their counters are shared. */
export function workersConflict(
  { limits = [] }: Pick<Config, "limits">,
  countTogether: boolean,
): ServingConflict | undefined {
  if (countTogether) return undefined;
  // Each worker counts separately, so N workers would allow N times the limit.
  const counting = limits.find(
    ({ rate, quota, concurrency }) => rate !== undefined || quota !== undefined || concurrency !== undefined,
  );
  if (counting === undefined) return undefined;
  const message = `the limit "${counting.name}" counts calls, which workers cannot do together: serve without --workers, or remove the limit`;
  return { path: ["limits"], message };
}
