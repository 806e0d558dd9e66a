/**
 * Property tests with fixed seeds, so that a change cannot fail by chance. `CARDEA_SEED=$RANDOM npx vitest run test/…`
 * tries others. `npm test` has a fifth of the runs that a property asks for, and at least 20; `npm run test:all` 5,000, or ten
 * times (below 20: three times) as many for a slow one, which asks for fewer than 100. `CARDEA_RUNS` and `CARDEA_MODEL_RUNS` say the number themselves.
 */
import * as fastCheck from "fast-check";
import { TAKES_ALL } from "./sample.js";

fastCheck.configureGlobal({ seed: Number(process.env.CARDEA_SEED ?? 20_261_120) });

const { CARDEA_RUNS, CARDEA_MODEL_RUNS } = process.env;
const isAsked = (CARDEA_RUNS ?? CARDEA_MODEL_RUNS) !== undefined;

function runs(asked = 100): number {
  if (isAsked) return asked;
  if (!TAKES_ALL) return Math.min(asked, Math.max(Math.ceil(asked / 5), 20));
  if (asked < 100) return asked * (asked < 20 ? 3 : 10);
  return Math.max(asked, 5_000);
}

/** As in fast-check, with as many runs as this kind of run has. */
export const assert = ((property: fastCheck.IRawProperty<unknown>, options?: fastCheck.Parameters<unknown>) =>
  fastCheck.assert(property, { ...options, numRuns: runs(options?.numRuns) })) as typeof fastCheck.assert;

export * from "fast-check";
// So that `fc.assert` and the type `fc.Arbitrary` come from one import.
export * as default from "./fast-check.js";
