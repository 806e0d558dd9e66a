/** How much work may conditions take? */

/** The remaining work of conditions, in steps of about 100 ns (`cel.ts`). */
export interface WorkBudget {
  steps: number;
  /** Whether a condition that exceeds the budget can be evaluated again later. */
  readonly canDefer?: boolean;
  /** Set where the budget was exceeded. */
  isExhausted?: boolean;
}

/** Steps of all conditions together: about 50 ms. A single one may take half of that. */
export const MAX_STEPS_TOGETHER = 500_000;
/** Steps of an evaluation (about 2 ms) before it yields. */
export const STEPS_BEFORE_YIELD = 20_000;
/** Steps between two yields to the event loop. */
export const STEPS_PER_SLICE = 50_000;
/** Slices of one evaluation: 0.1 s to 1 s of work in all. */
export const MAX_SLICES = 40;
/** Why a rule could not be evaluated then. */
export const TOTAL_WORK_EXCEEDED = "the conditions of all rules together exceed their work budget";
