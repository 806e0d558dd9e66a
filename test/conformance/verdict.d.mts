export type Status = "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED";
export type Results = ReadonlyMap<string, ReadonlyMap<string, Status>>;
export type Verdict = "passed" | "failed" | "excused" | "as direct" | "skipped";
export interface Evaluated {
  readonly scenario: string;
  readonly check: string;
  readonly verdict: Verdict;
  readonly status: string;
  readonly reason?: string;
}
export interface Excuse {
  readonly check: string;
  readonly reason: string;
}
export function evaluate(
  runs: { readonly through: Results; readonly direct: Results },
  scenarios: readonly string[],
  excuses: readonly Excuse[],
): { readonly evaluated: readonly Evaluated[]; readonly stale: readonly string[] };
export function tally(evaluated: readonly Evaluated[], scenario?: string): Readonly<Record<Verdict, number>>;
