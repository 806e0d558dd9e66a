/** The progress tokens of calls that asked for a task, which outlive their calls (2025-11-25: basic/utilities/tasks). */

/** So many are remembered; of older ones no progress is told. */
const REMEMBERED = 1000;

export class TaskTokens {
  /** Hardly any session has one. */
  #tokens: Set<unknown> | undefined;

  add(token: string | number): void {
    this.#tokens ??= new Set();
    this.#tokens.add(token);
    const [oldest] = this.#tokens;
    if (this.#tokens.size > REMEMBERED) this.#tokens.delete(oldest);
  }

  has(token: unknown): boolean {
    return this.#tokens?.has(token) === true;
  }
}
