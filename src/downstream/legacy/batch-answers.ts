/** The answers of a batch on a pipe: one array, or several where one would be too long, written as the host reads. */
import { ConditionVariable } from "../../core/stop.js";
import type { Backlog } from "../edge.js";
import { type BatchDelivery, LONGEST_WAIT_MS, NEVER } from "./batch-run.js";
import { arrayOf, type MessageText, sizeOf } from "./messages.js";

/** Longer arrays, in characters or bytes, are split. */
const MAX_ARRAY = 8 * 1024 * 1024;
/** With more than this unread, the next part of a split array waits. In bytes. */
const MAX_UNREAD = 1024 * 1024;

/** Collects the answers of one batch. */
export class BatchAnswers implements BatchDelivery {
  readonly #change = new ConditionVariable();
  #answers: MessageText[] = [];
  #size = 0;
  #isOver = false;
  #isWaiting = false;

  /** Without a backlog all that is written is read at once. */
  constructor(
    private readonly backlog: Backlog | undefined,
    private readonly write: (text: MessageText) => void,
    private readonly isClosed: () => boolean,
  ) {}

  get undelivered(): number {
    return this.#size + this.#unread;
  }

  get isGone(): boolean {
    return this.backlog?.isGone === true || this.isClosed();
  }

  changed(): void {
    this.#change.notifyAll();
  }

  whenChanged(): Promise<void> {
    this.#watch();
    return this.#change.wait(LONGEST_WAIT_MS, NEVER);
  }

  add(answer: MessageText): void {
    this.#answers.push(answer);
    this.#size += sizeOf(answer);
    this.#flush();
  }

  /** All requests are answered. Resolves when the answers were written, or the host is gone. */
  async finish(): Promise<void> {
    this.#isOver = true;
    this.#flush();
    while (this.#answers.length > 0 && !this.isGone) await this.whenChanged();
  }

  get #unread(): number {
    return this.backlog?.unread ?? 0;
  }

  #flush(): void {
    const isLong = this.#size >= MAX_ARRAY;
    if (this.#answers.length === 0 || !(isLong || this.#isOver)) return;
    // A short array does not wait, as other messages do not.
    if (isLong && this.#unread > MAX_UNREAD && !this.isGone) {
      this.#watch();
      return;
    }
    this.write(arrayOf(this.#answers));
    this.#answers = [];
    this.#size = 0;
  }

  /** Continues as soon as the host has read what was written. */
  #watch(): void {
    if (this.#isWaiting || this.#unread <= MAX_UNREAD) return;
    this.#isWaiting = true;
    this.backlog?.onceRead(() => {
      this.#isWaiting = false;
      this.#flush();
      this.changed();
    });
  }
}
