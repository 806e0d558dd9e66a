/** Grants without a state directory: in memory, until the process ends. */
import { TaskQueues } from "../vault/task-queues.js";
import type { GrantStore, Now } from "./types.js";

/** A store in memory; its values are copies, like those of a file. */
export class MemoryStore implements GrantStore {
  readonly #values = new Map<string, { readonly text: string; readonly writtenAt: number }>();
  readonly #queues = new TaskQueues();
  readonly #now: Now;

  constructor(now: Now = Date.now) {
    this.#now = now;
  }

  async read(name: string): Promise<unknown> {
    const found = this.#values.get(name);
    return found === undefined ? undefined : (JSON.parse(found.text) as unknown);
  }

  async write(name: string, value: unknown): Promise<void> {
    this.#values.set(name, { text: JSON.stringify(value), writtenAt: this.#now() });
  }

  async remove(name: string): Promise<void> {
    this.#values.delete(name);
  }

  async list(prefix: string): Promise<readonly { readonly name: string; readonly writtenAt: number }[]> {
    return [...this.#values]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, { writtenAt }]) => ({ name, writtenAt }));
  }

  locked<T>(name: string, task: () => Promise<T>): Promise<T> {
    return this.#queues.run(name, task);
  }
}
