/** The progress of calls that asked for a task, which outlives them (2025-11-25: basic/utilities/tasks), by their tokens. */
import { Progress } from "../../core/progress.js";
import { type IdKey, isProgressToken, keyOf, type MessageId } from "../../wire/message-id.js";

/** So many are remembered; of older ones no progress is told. */
const REMEMBERED = 1000;

export class TaskTokens {
  /** Hardly any session has one. */
  #tokens: Map<IdKey, Progress> | undefined;

  add(token: MessageId): Progress {
    this.#tokens ??= new Map();
    const progress = new Progress();
    this.#tokens.set(keyOf(token), progress);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > REMEMBERED && oldest !== undefined) this.#tokens.delete(oldest);
    return progress;
  }

  /** Undefined where no task has this token. */
  progressOf(token: unknown): Progress | undefined {
    return isProgressToken(token) ? this.#tokens?.get(keyOf(token)) : undefined;
  }
}
