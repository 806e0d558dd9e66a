/** Messages to one receiver: each is tried again for some minutes, and those about one approval keep their order. In memory, bounded. */
import type { Webhook, WebhookMessage } from "../../../outgoing/webhook.js";

/** The first and the longest time (ms) between attempts, and how much longer each is than the one before. */
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 120_000;
const RETRY_FACTOR = 3;
/** Of one message: some six minutes. */
export const MAX_ATTEMPTS = 8;
/** Characters of all messages that wait. */
export const MAX_WAITING_LENGTH = 4_000_000;
/** For the last attempts when the gateway stops, in ms. */
const LAST_MS = 3_000;

/** What became of a message. `dropped`: there was no room for it. */
export type NoticeOutcome = "accepted" | "failed" | "dropped";

interface QueueOptions {
  readonly webhook: Pick<Webhook, "post" | "close">;
  /** `reason`: the end of a sentence; absent where it was accepted. */
  readonly onOutcome: (outcome: NoticeOutcome, reason?: string) => void;
  /** Nothing waits any longer; the queue takes no more. */
  readonly onEmpty: () => void;
}

/** The messages about one approval. */
interface Delivery {
  readonly messages: WebhookMessage[];
  /** Of the first message. */
  attempts: number;
  timer?: NodeJS.Timeout | undefined;
}

/** A queue is open while messages wait. */
export class NoticeQueue {
  readonly #options: QueueOptions;
  readonly #deliveries = new Map<string, Delivery>();
  /** Those whose time has come. */
  readonly #due: string[] = [];
  readonly #end = new AbortController();
  #length = 0;
  #work: Promise<void> | undefined;
  #problem: string | undefined;
  #isClosed = false;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Why the last attempt was not accepted, as the end of a sentence; undefined if it was. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Messages that wait. */
  get size(): number {
    return [...this.#deliveries.values()].reduce((sum, { messages }) => sum + messages.length, 0);
  }

  /** @param about the approval */
  add(about: string, message: WebhookMessage): void {
    if (this.#isClosed || this.#length + message.body.length > MAX_WAITING_LENGTH) {
      this.#options.onOutcome("dropped", "too many wait");
      return;
    }
    this.#length += message.body.length;
    const delivery = this.#deliveries.get(about);
    if (delivery === undefined) {
      this.#deliveries.set(about, { messages: [message], attempts: 0 });
      this.#makeDue(about);
    } else delivery.messages.push(message);
  }

  /** Tries what waits again, for at most 3 s, or ends at once. Resolves to the number of messages that are lost. */
  async close(isImmediate: boolean): Promise<number> {
    this.#isClosed = true;
    if (isImmediate) this.#end.abort();
    const last = setTimeout(() => this.#end.abort(), LAST_MS).unref();
    for (const { timer } of this.#deliveries.values()) clearTimeout(timer);
    await this.#work;
    this.#due.splice(0, this.#due.length, ...this.#deliveries.keys());
    if (!isImmediate) await this.#postDue();
    clearTimeout(last);
    await this.#options.webhook.close();
    return this.size;
  }

  #makeDue(about: string): void {
    this.#due.push(about);
    this.#work ??= this.#postDue().then(() => this.#endIfEmpty());
  }

  async #endIfEmpty(): Promise<void> {
    this.#work = undefined;
    if (this.#isClosed || this.#deliveries.size > 0) return;
    this.#isClosed = true;
    this.#options.onEmpty();
    await this.#options.webhook.close();
  }

  /** One message after the other. Does not reject. */
  async #postDue(): Promise<void> {
    for (let about = this.#due.shift(); about !== undefined; about = this.#due.shift()) {
      const delivery = this.#deliveries.get(about);
      const [message] = delivery?.messages ?? [];
      if (delivery === undefined || message === undefined) continue;
      const outcome = await this.#options.webhook.post(message, this.#end.signal);
      if (this.#end.signal.aborted && outcome.kind !== "accepted") return;
      this.#settle(about, delivery, outcome.kind === "accepted" ? undefined : outcome);
    }
  }

  #settle(
    about: string,
    delivery: Delivery,
    failure: { readonly reason: string; readonly waitMs?: number } | undefined,
  ): void {
    this.#problem = failure?.reason;
    delivery.attempts += 1;
    if (failure !== undefined && delivery.attempts < MAX_ATTEMPTS) {
      this.#tryLater(about, delivery, failure);
      return;
    }
    const message = delivery.messages.shift();
    this.#length -= message?.body.length ?? 0;
    delivery.attempts = 0;
    this.#options.onOutcome(failure === undefined ? "accepted" : "failed", failure?.reason);
    if (delivery.messages.length > 0) this.#due.push(about);
    else this.#deliveries.delete(about);
  }

  #tryLater(about: string, delivery: Delivery, { waitMs = 0 }: { readonly waitMs?: number }): void {
    if (this.#isClosed) return;
    const grown = RETRY_MS * RETRY_FACTOR ** (delivery.attempts - 1) * (0.5 + Math.random() / 2);
    const ms = Math.min(MAX_RETRY_MS, Math.max(waitMs, grown));
    delivery.timer = setTimeout(() => this.#makeDue(about), ms).unref();
  }
}
