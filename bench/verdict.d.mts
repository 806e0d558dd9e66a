/** Of each set the figure of the two processes of either build; less is better. */
export interface ProcessSet {
  readonly before: readonly [number, number];
  readonly now: readonly [number, number];
}

export interface Verdict {
  /** 0.05 is 5 % more than before. */
  readonly change: number;
  /** What a build differs from itself: the half width of the interval of 95 % about `change`. */
  readonly noise: number;
  readonly word: "faster" | "slower" | "no difference";
}

export function verdict(sets: readonly ProcessSet[]): Verdict;
