/** Writes lines synchronously, one by one, and buffers them while the log fails. */

import type { Logger } from "../../core/logger.js";
import { ChainFile, type ChainFileOptions, type Found } from "./chain-file.js";
import { CHAIN_START, type ChainPosition, type WrittenEvent } from "./line.js";
import type { AuditEvent } from "./types.js";

/** Retry interval (ms) of a failed log. */
const RETRY_MS = 1_000;
/** Maximum delay (ms) of the head behind the lines. */
const HEAD_MS = 100;
/** Lines that are buffered in memory while the log fails. */
const MAX_PENDING = 10_000;

/** The settings of a log. */
export interface WriterOptions extends ChainFileOptions {
  /** Called after lines were written. */
  readonly onWritten?: () => void;
}

/** Writes events in order; each is written, buffered during a failure, or counted as lost. */
export class AuditWriter {
  readonly #options: WriterOptions;
  readonly #logger: Logger;
  readonly #now: () => Date;
  #file: ChainFile | undefined;
  #position: ChainPosition = CHAIN_START;
  #pending: (AuditEvent | WrittenEvent)[] = [];
  /** The file is opened or rotated, and buffered events are written then. */
  #work: Promise<boolean> | undefined;
  /** Buffered lines of calls are written at the next tick. */
  #batch: Promise<boolean> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #headTimer: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  #isClosed = false;
  #lost = 0;
  #lostSince = 0;

  constructor(options: WriterOptions, logger: Logger, now: () => Date = () => new Date()) {
    this.#options = options;
    this.#logger = logger;
    this.#now = now;
  }

  /** Opens the file. A failure is a `problem`, and retried. */
  async open(): Promise<Found | undefined> {
    try {
      this.#file = await ChainFile.open(this.#options, this.#now, this.#position);
      this.#position = this.#file.position;
    } catch (error) {
      this.#failed(error);
    }
    return this.#file?.found;
  }

  /** The last line. */
  get position(): ChainPosition {
    return this.#position;
  }

  /** Why the log fails; undefined while it works. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Events that did not fit into the buffer while the log failed. */
  get lost(): number {
    return this.#lost;
  }

  /** Like `add`, for events that no reply waits for. */
  post(event: AuditEvent): void {
    const written = this.add(event);
    if (written instanceof Promise) written.catch(() => {}); // it does not reject
  }

  /**
   * Writes a line. True when the system has it; false while the log fails, and the line is then written later. A
   * promise if the file is opened or rotated first; it does not reject.
   */
  add(event: AuditEvent | WrittenEvent): boolean | Promise<boolean> {
    return this.#accepts(event) && (this.#work ?? this.#writePending());
  }

  /** Like `add`, but the lines of calls that end in the same turn of the event loop are written together, before its next tick. */
  addToBatch(event: WrittenEvent): boolean | Promise<boolean> {
    if (!this.#accepts(event)) return false;
    this.#batch ??= new Promise((resolve) => {
      process.nextTick(() => {
        this.#batch = undefined;
        resolve(this.#work ?? this.#writePending());
      });
    });
    return this.#batch;
  }

  /** Whether the event may be written now. If not, it waits until the log works again, or is counted as lost. */
  #accepts(event: AuditEvent | WrittenEvent): boolean {
    if (this.#isClosed) return false;
    if (this.#problem !== undefined && this.#pending.length >= MAX_PENDING) {
      this.#lost += 1;
      this.#lostSince += 1;
      return false;
    }
    this.#pending.push(event);
    return this.#problem === undefined;
  }

  /** Writes buffered events, retries once if the log failed, and closes the file. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#headTimer);
    await this.#batch;
    await this.#work;
    if (this.#pending.length > 0) await this.#writeAnew();
    clearTimeout(this.#retry);
    clearTimeout(this.#headTimer);
    await this.#file?.close();
    this.#file = undefined;
    if (this.#pending.length > 0)
      this.#logger.error({ lines: this.#pending.length }, "lines of the audit log could not be written");
  }

  #writePending(): true | Promise<boolean> {
    const file = this.#file;
    if (file === undefined || file.isFull) return this.#writeLater();
    try {
      this.#append(file);
    } catch {
      return this.#writeLater(file); // A deleted file is recreated immediately.
    }
    return true;
  }

  #writeLater(broken?: ChainFile): Promise<boolean> {
    this.#work = this.#writeAnew(broken);
    return this.#work;
  }

  /** Writes buffered events to a file that is opened or rotated first; false if that fails, and they stay buffered. */
  async #writeAnew(broken?: ChainFile): Promise<boolean> {
    try {
      if (broken !== undefined) await this.#giveUp(broken);
      this.#file ??= await this.#reopen();
      await this.#rotateAndAppend(this.#file);
      return true;
    } catch (error) {
      this.#work = undefined;
      this.#failed(error);
      return false;
    }
  }

  /** @throws the system error; the file is then closed */
  async #rotateAndAppend(file: ChainFile): Promise<void> {
    try {
      if (file.isFull) await file.rotate();
      this.#append(file);
    } catch (error) {
      await this.#giveUp(file);
      throw error;
    }
  }

  /** A failed file is closed and reopened. */
  async #giveUp(file: ChainFile): Promise<void> {
    this.#file = undefined;
    await file.close();
  }

  /** Writes buffered events. @throws the system error */
  #append(file: ChainFile): void {
    const gap = this.#lostSince;
    file.append(gap > 0 ? [...this.#pending, linesLost(gap)] : this.#pending);
    this.#lostSince = 0;
    this.#pending = [];
    this.#position = file.position;
    this.#work = undefined;
    this.#options.onWritten?.();
    this.#recovered();
    if (!this.#isClosed) this.#headTimer ??= this.#writeHeadSoon();
  }

  async #reopen(): Promise<ChainFile> {
    const file = await ChainFile.open(this.#options, this.#now, this.#position);
    if (file.found === "cut")
      this.#logger.error(
        { file: this.#options.file, line: file.position.seq },
        "lines of the audit log were deleted while it was written; the chain continues after them",
      );
    return file;
  }

  #writeHeadSoon(): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#headTimer = undefined;
      this.#file
        ?.writeHead()
        .catch((error: unknown) =>
          this.#logger.warn({ error }, "the head of the audit log cannot be written"),
        );
    }, HEAD_MS);
    return timer.unref();
  }

  #failed(error: unknown): void {
    const reason = messageOf(error);
    if (this.#problem !== reason)
      this.#logger.error({ file: this.#options.file }, `the audit log cannot be written: ${reason}`);
    this.#problem = reason;
    if (this.#isClosed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      if (this.#work === undefined) this.#writeLater().catch(() => {}); // it does not reject
    }, RETRY_MS).unref();
  }

  #recovered(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#logger.info({ file: this.#options.file }, "the audit log is written again");
  }
}

/** Records in the log itself that it is incomplete. */
const linesLost = (count: number): AuditEvent => ({
  kind: "admin",
  method: "audit/lost",
  target: String(count),
  outcome: "lost",
});

/** The message of a system error or of one of ours. */
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
