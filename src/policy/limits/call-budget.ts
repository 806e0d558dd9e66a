/** What a call is paid from: something that has calls left, or will have again. */
export interface CallBudget {
  /** How long until there is one; 0 when there is one. By a clock that nobody sets. */
  readonly waitMs: number;
  /** Spends one; ask `waitMs` first. The returned function puts back what was spent for nothing. */
  spend(): () => void;
}
