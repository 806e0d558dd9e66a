/** The progress tokens of calls that asked for a task, which outlive their calls (2025-11-25: basic/utilities/tasks). */
import type { MessageId } from "../../wire/message-id.js";

/** So many are remembered; of older ones no progress is told. */
const REMEMBERED = 1000;

export class TaskTokens {
  /** Hardly any session has one. */
  #tokens: Set<unknown> | undefined;

  add(token: MessageId): void {
    this.#tokens ??= new Set();
    this.#tokens.add(token);
    const [oldest] = this.#tokens;
    if (this.#tokens.size > REMEMBERED) this.#tokens.delete(oldest);
  }

  has(token: unknown): boolean {
    return this.#tokens?.has(token) === true;
  }
}
