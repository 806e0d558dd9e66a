/** What a run through the gateway is worth: held against the same run without it, and against what is excused. */

/**
 * @typedef {"passed" | "failed" | "excused" | "as direct" | "skipped"} Verdict
 *   `as direct`: it fails without the gateway too, so it says nothing about the gateway.
 * @typedef {{ scenario: string, check: string, verdict: Verdict, status: string, reason?: string }} Evaluated
 * @typedef {{ check: string, reason: string }} Excuse `check` is `scenario` or `scenario:check-id`
 */

const passes = (status) => status === "SUCCESS";
const fails = (status) => status === "FAILURE" || status === "WARNING";

const NOT_RUN = new Map([["(not run)", "FAILURE"]]);

/**
 * Evaluates every check that was made in either run. A check that succeeds directly must succeed through the gateway:
 * one that is skipped or missing there has failed.
 *
 * @param {{ through: import("./suite.mjs").Results, direct: import("./suite.mjs").Results }} runs
 * @param {readonly string[]} scenarios all that should have been run; one without a result has failed
 * @param {readonly Excuse[]} excuses
 * @returns {{ evaluated: readonly Evaluated[], stale: readonly string[] }} `stale`: excuses that nothing needs
 */
export function evaluate({ through, direct }, scenarios, excuses) {
  const used = new Set();
  const excuseFor = (scenario, check) => {
    const found = excuses.find(
      (excuse) => excuse.check === scenario || excuse.check === `${scenario}:${check}`,
    );
    if (found) used.add(found);
    return found;
  };
  const evaluated = [];
  for (const scenario of scenarios) {
    const [before, after] = [direct.get(scenario) ?? new Map(), through.get(scenario) ?? NOT_RUN];
    for (const check of new Set([...before.keys(), ...after.keys()])) {
      const [directly, status] = [before.get(check), after.get(check) ?? "MISSING"];
      const lost = fails(status) || (passes(directly) && !passes(status));
      if (!lost) {
        evaluated.push({ scenario, check, status, verdict: passes(status) ? "passed" : "skipped" });
        continue;
      }
      const excuse = excuseFor(scenario, check);
      const verdict = excuse ? "excused" : fails(directly) ? "as direct" : "failed";
      evaluated.push({ scenario, check, status, verdict, ...(excuse && { reason: excuse.reason }) });
    }
  }
  return { evaluated, stale: excuses.filter((excuse) => !used.has(excuse)).map(({ check }) => check) };
}

/** How many checks of `scenario` have each verdict. */
export function tally(evaluated, scenario) {
  const counts = { passed: 0, failed: 0, excused: 0, "as direct": 0, skipped: 0 };
  for (const one of evaluated)
    if (scenario === undefined || one.scenario === scenario) counts[one.verdict] += 1;
  return counts;
}
