/** What a scripted server wrote down of what it did. */

export interface LedgerEntry {
  readonly event: string;
  readonly pid: number;
  /** Which call, by the argument `label` of its tool. */
  readonly label?: string;
  readonly [key: string]: unknown;
}

/** How often something happened, in a call or in all. */
export const countOf = (ledger: readonly LedgerEntry[], event: string, label?: string): number =>
  ledger.filter((entry) => entry.event === event && (label === undefined || entry.label === label)).length;
