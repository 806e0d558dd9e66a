/** Sees to it that many checks at once do not hold the event loop for as long as all of them take together. */

/** About 4 ms; what is more than that in one turn of the event loop waits for another. */
const WORK_PER_SLICE = 50_000;

export class CooperativeYield {
  #spent = 0;
  #queue: Promise<void> | undefined;

  /** Undefined where a check may begin; else what it must wait for, one check for each turn. */
  wait(): Promise<void> | undefined {
    if (this.#spent < WORK_PER_SLICE && this.#queue === undefined) return undefined;
    const slice = (this.#queue ?? Promise.resolve()).then(yieldToEventLoop).then(() => {
      if (this.#queue === slice) this.#queue = undefined;
    });
    this.#queue = slice;
    return slice;
  }

  /** Begins something that may take up most of a turn. */
  async run<T>(begin: () => Promise<T>): Promise<T> {
    const slice = this.wait();
    if (slice !== undefined) await slice;
    this.spend(WORK_PER_SLICE);
    return begin();
  }

  /** So much work was done in this turn. */
  spend(work: number): void {
    if (this.#spent === 0) {
      setImmediate(() => {
        this.#spent = 0;
      });
    }
    this.#spent += work;
  }
}

/** Resolves when whatever else is due has had its turn. */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
