/** The progress of calls that asked for a task, which outlives them (2025-11-25: basic/utilities/tasks), by their tokens. */
import { ProgressFilter } from "../../core/progress.js";
import { type IdKey, idKeyOf, isProgressToken, type MessageId } from "../../wire/message-id.js";

/** So many are remembered; of older ones no progress is told. */
const MAX_TOKENS = 1000;

export class TaskTokens {
  /** Hardly any session has one. */
  #tokens: Map<IdKey, ProgressFilter> | undefined;

  add(token: MessageId): ProgressFilter {
    this.#tokens ??= new Map();
    const progress = new ProgressFilter();
    this.#tokens.set(idKeyOf(token), progress);
    const [oldest] = this.#tokens.keys();
    if (this.#tokens.size > MAX_TOKENS && oldest !== undefined) this.#tokens.delete(oldest);
    return progress;
  }

  /** Undefined where no task has this token. */
  progressOf(token: unknown): ProgressFilter | undefined {
    return isProgressToken(token) ? this.#tokens?.get(idKeyOf(token)) : undefined;
  }
}
