/** In which order do tasks about the same record run in this process? One after another, as they came. */

/** The queues of one kind of task, by name. A name without tasks keeps nothing. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `task` when all earlier ones of `name` have settled, and settles as it does. */
  run<T>(name: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const mine = before.then(task, task);
    this.#last.set(name, mine);
    const forget = (): void => {
      if (this.#last.get(name) === mine) this.#last.delete(name);
    };
    mine.then(forget, forget);
    return mine;
  }
}
