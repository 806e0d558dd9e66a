/** Posts the lines of a log to `audit.sink`, in batches and in their order. The log is the queue: a line counts as sent once its batch was accepted. */
import { hash } from "node:crypto";
import { basename } from "node:path";
import type { Logger } from "../../../core/logger.js";
import { Webhook, type WebhookMessage, type WebhookTarget } from "../../../outgoing/webhook.js";
import { writeJson } from "../../../wire/json-text.js";
import { CHAIN_START, type ChainPosition } from "../line.js";
import { type LineBatch, LogTail } from "./log-tail.js";
import { readSent, writeSent } from "./position.js";

interface SinkOptions {
  /** The log. */
  readonly file: string;
  readonly target: WebhookTarget;
  readonly logger: Logger;
  /** The last line of the log. */
  readonly written: () => ChainPosition;
  /** Default: a webhook. */
  readonly webhook?: Pick<Webhook, "post" | "close"> | undefined;
}

/** How long (ms) a line waits for others. */
const LINGER_MS = 500;
/** The first and the longest time (ms) between attempts. */
const RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;
/** For the last attempt when the gateway stops, in ms. */
const LAST_MS = 3_000;

/** The sink of one log. */
export class AuditSink {
  readonly #options: SinkOptions;
  readonly #webhook: Pick<Webhook, "post" | "close">;
  readonly #tail: LogTail;
  readonly #end = new AbortController();
  #sent: ChainPosition = CHAIN_START;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> | undefined;
  /** A line was written while others were posted. */
  #isDue = false;
  #failures = 0;
  #waitMs = RETRY_MS;
  #problem: string | undefined;
  #isClosed = false;

  constructor(options: SinkOptions) {
    this.#options = options;
    this.#webhook = options.webhook ?? new Webhook(options.target);
    this.#tail = new LogTail(options.file, () => options.written().seq);
  }

  /** Reads what the receiver has, and posts what it has not. Called once, when the log is open. */
  async open(): Promise<void> {
    const { file, logger, written } = this.#options;
    const sent = await readSent(file);
    const last = written();
    // The log that cannot be opened yet may be the one that was posted.
    if (last.seq > 0 && sent.seq > last.seq)
      logger.warn({ file }, "another audit log was posted before; this one is posted from its first line");
    else this.#sent = sent;
    this.lineWritten();
  }

  /** The number of the last line that the receiver has. */
  get sentSeq(): number {
    return this.#sent.seq;
  }

  /** Lines that the receiver does not have yet. */
  get unsent(): number {
    return Math.max(0, this.#options.written().seq - this.#sent.seq);
  }

  /** Why lines are not accepted, as the end of a sentence; undefined while they are. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The log has a line more. */
  lineWritten(): void {
    if (this.#work !== undefined) this.#isDue = true;
    else if (this.#timer === undefined && !this.#isClosed) this.#postIn(LINGER_MS);
  }

  /** Posts what is there, for at most 3 s, or ends at once. What is not accepted is posted by the next process. */
  async close(isImmediate: boolean): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    if (isImmediate) this.#end.abort();
    else setTimeout(() => this.#end.abort(), LAST_MS).unref();
    await this.#work;
    if (!isImmediate && this.unsent > 0) await this.#postAll();
    await this.#webhook.close();
  }

  #postIn(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isDue = false;
      this.#work = this.#postAll().finally(() => {
        this.#work = undefined;
        if (this.#isClosed) return;
        if (this.#failures > 0) this.#postIn(this.#waitMs);
        else if (this.#isDue) this.#postIn(LINGER_MS);
      });
    }, ms).unref();
  }

  /** Posts batches until none is left or one is not accepted. Does not reject. */
  async #postAll(): Promise<void> {
    try {
      for (;;) {
        const batch = await this.#tail.after(this.#sent);
        if (batch === undefined) return;
        const outcome = await this.#webhook.post(messageOf(this.#options.file, batch), this.#end.signal);
        if (outcome.kind !== "accepted") return this.#failed(outcome.reason, outcome.waitMs);
        this.#sent = batch.to;
        this.#accepted();
        await writeSent(this.#options.file, batch.to);
      }
    } catch (error) {
      this.#failed(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param waitMs what the receiver asks for */
  #failed(reason: string, waitMs = 0): void {
    if (this.#end.signal.aborted) return;
    const { logger, target, file } = this.#options;
    if (this.#problem !== reason)
      logger.error({ file, url: shown(target.url) }, `lines of the audit log are not accepted: ${reason}`);
    this.#problem = reason;
    this.#failures += 1;
    const grown = Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** (this.#failures - 1));
    this.#waitMs = Math.max(waitMs, grown * (0.5 + Math.random() / 2));
  }

  #accepted(): void {
    this.#failures = 0;
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#options.logger.info({ file: this.#options.file }, "lines of the audit log are accepted again");
  }
}

/** A batch as a message: the same lines are the same message, in whichever attempt of whichever process. */
function messageOf(file: string, { lines, from, to }: LineBatch): WebhookMessage {
  const log = basename(file);
  const body = `{"type":"audit.lines","timestamp":${writeJson(timeOf(lines))},"data":{"log":${writeJson(log)},"from":${from},"to":${to.seq},"lines":[${lines.join(",")}]}}`;
  return { id: `audit_${from}_${to.seq}_${hash("sha256", body).slice(0, 16)}`, body };
}

/** When the last line was written. */
const timeOf = (lines: readonly string[]): string =>
  /^\{"seq":\d+,"at":"([^"]+)"/.exec(lines.at(-1) ?? "")?.[1] ?? "";

/** Without its query, which may have a key. */
const shown = (url: string): string => url.replace(/\?.*$/, "");
