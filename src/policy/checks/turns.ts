/** Sees to it that many checks at once do not hold the event loop for as long as all of them take together. */

/** About 4 ms; what is more than that in one turn of the event loop waits for another. */
const MUCH = 50_000;

export class Turns {
  #spent = 0;
  #line: Promise<void> | undefined;

  /** Undefined where a check may begin; else what it must wait for, one check for each turn. */
  wait(): Promise<void> | undefined {
    if (this.#spent < MUCH && this.#line === undefined) return undefined;
    const turn = (this.#line ?? Promise.resolve()).then(othersFirst).then(() => {
      if (this.#line === turn) this.#line = undefined;
    });
    this.#line = turn;
    return turn;
  }

  /** Begins something that may take up most of a turn. */
  async take<T>(begin: () => Promise<T>): Promise<T> {
    const turn = this.wait();
    if (turn !== undefined) await turn;
    this.spend(MUCH);
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
const othersFirst = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
