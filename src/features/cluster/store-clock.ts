/** The clock of the store, as its answers tell: by it the store drops what it would run too late. */
export class StoreClock {
  #offsetMs: number | undefined;

  /** The store's time at an answer that has just arrived, in ms. */
  read(storeMs: number): void {
    if (Number.isFinite(storeMs)) this.#offsetMs = storeMs - performance.now();
  }

  /** The store's time in `ms` from now, at the earliest; undefined before the first answer. */
  after(ms: number): number | undefined {
    return this.#offsetMs === undefined ? undefined : Math.ceil(this.#offsetMs + performance.now() + ms);
  }
}
