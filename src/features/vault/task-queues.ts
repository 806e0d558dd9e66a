/** Runs the tasks of one record one after another, in order of arrival, within this process. */

/** Task queues by name. A name without tasks uses no memory. */
export class TaskQueues {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `task` after all earlier ones of `name` have settled, and settles as it does. */
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
