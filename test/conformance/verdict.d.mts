export type Status = "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED";
export type Results = ReadonlyMap<string, ReadonlyMap<string, Status>>;
export type Verdict = "passed" | "failed" | "excused" | "as direct" | "skipped";
export interface Judged {
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
export function judge(
  runs: { readonly through: Results; readonly direct: Results },
  scenarios: readonly string[],
  excuses: readonly Excuse[],
): { readonly judged: readonly Judged[]; readonly stale: readonly string[] };
export function tally(judged: readonly Judged[], scenario?: string): Readonly<Record<Verdict, number>>;
