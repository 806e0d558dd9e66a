/** When are lines written, and what happens while they cannot be? Those of one turn together, one write at a time. */
import type { AuditEvent } from "../core/audit.js";
import type { Logger } from "../core/logger.js";
import { ChainFile, type ChainFileOptions, type Found } from "./chain-file.js";
import { CHAIN_START, type ChainPosition, type WrittenEvent } from "./line.js";
import { messageOf } from "./message-of.js";

/** How often (ms) a log that failed is tried again. */
const RETRY_MS = 1_000;
/** How far (ms) the head may stay behind the lines. */
const HEAD_MS = 100;
/** Lines that are kept in memory while they cannot be written. */
const MAX_PENDING = 10_000;

/**
 * Under load a write waits for this time (ms) for further lines: a write costs as much as ten lines. A load is that the
 * last write had several lines and is this time ago at most.
 */
const GATHER_MS = 1;
const LOAD_MS = 20;

const NOT_WRITTEN: Promise<boolean> = Promise.resolve(false);

interface Group {
  readonly done: Promise<boolean>;
  readonly settle: (isWritten: boolean) => void;
}

/** Writes events in order; each is written, waits for a log that failed, or is counted as lost. */
export class AuditWriter {
  readonly #options: ChainFileOptions;
  readonly #logger: Logger;
  readonly #now: () => Date;
  #file: ChainFile | undefined;
  #position: ChainPosition = CHAIN_START;
  #pending: (AuditEvent | WrittenEvent)[] = [];
  #group: Group | undefined;
  /** The write that is scheduled or runs. */
  #work: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #headTimer: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  #isClosed = false;
  #lost = 0;
  /** Of the last write, and when it ended. */
  #lastLines = 0;
  #writtenAt = 0;
  #lostSince = 0;

  constructor(options: ChainFileOptions, logger: Logger, now: () => Date = () => new Date()) {
    this.#options = options;
    this.#logger = logger;
    this.#now = now;
  }

  /** Opens the file. A failure is a `problem`, and the file is tried again. */
  async open(): Promise<Found | undefined> {
    try {
      this.#file = await ChainFile.open(this.#options, this.#now, this.#position);
    } catch (error) {
      this.#failed(error);
    }
    return this.#file?.found;
  }

  /** Why nothing can be written now; undefined while it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Events that found no place while the log failed. */
  get lost(): number {
    return this.#lost;
  }

  /** As `add`, for events that no reply waits for. */
  post(event: AuditEvent): void {
    this.add(event).catch(() => {}); // it does not reject
  }

  /** Resolves when the line is with the system, with false at once while the log fails; the line is then written later. */
  add(event: AuditEvent | WrittenEvent): Promise<boolean> {
    if (this.#isClosed) return NOT_WRITTEN;
    if (this.#problem !== undefined) {
      if (this.#pending.length < MAX_PENDING) this.#pending.push(event);
      else {
        this.#lost += 1;
        this.#lostSince += 1;
      }
      return NOT_WRITTEN;
    }
    this.#pending.push(event);
    this.#group ??= newGroup();
    this.#schedule();
    return this.#group.done;
  }

  /** Writes what is pending, tries once where the log failed, and closes the file. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#headTimer);
    await this.#work;
    if (this.#pending.length > 0) await this.#write();
    clearTimeout(this.#retry);
    clearTimeout(this.#headTimer);
    await this.#file?.close();
    this.#file = undefined;
    if (this.#pending.length > 0)
      this.#logger.error({ lines: this.#pending.length }, "lines of the audit log could not be written");
  }

  #schedule(): void {
    this.#work ??= this.#gathered().then(async () => {
      await this.#write();
      this.#work = undefined;
      if (this.#group !== undefined && !this.#isClosed) this.#schedule();
    });
  }

  /** Resolves when the lines of this turn, under load those of the next millisecond too, are pending. */
  #gathered(): Promise<void> {
    const isLoaded = this.#lastLines > 1 && performance.now() - this.#writtenAt < LOAD_MS;
    return new Promise((resolve) => {
      if (isLoaded) setTimeout(resolve, GATHER_MS);
      else setImmediate(resolve);
    });
  }

  async #write(): Promise<void> {
    const events = this.#pending;
    this.#lastLines = events.length;
    const group = this.#group;
    this.#pending = [];
    this.#group = undefined;
    try {
      await this.#append(events).catch(() => this.#append(events)); // a file that was deleted is made anew at once
      this.#writtenAt = performance.now();
      group?.settle(true);
      this.#recovered();
      if (!this.#isClosed) this.#headTimer ??= this.#writeHeadSoon();
    } catch (error) {
      this.#pending = [...events, ...this.#pending];
      group?.settle(false);
      this.#failed(error);
    }
  }

  async #append(events: readonly (AuditEvent | WrittenEvent)[]): Promise<void> {
    const file = this.#file ?? (await this.#reopen());
    this.#file = file;
    const gap = this.#lostSince;
    try {
      await file.append(gap > 0 ? [...events, linesLost(gap)] : events);
    } catch (error) {
      this.#file = undefined;
      await file.close();
      throw error;
    }
    this.#lostSince -= gap;
    this.#position = file.position;
  }

  async #reopen(): Promise<ChainFile> {
    const file = await ChainFile.open(this.#options, this.#now, this.#position);
    if (file.found === "cut")
      this.#logger.error(
        { file: this.#options.file, line: file.position.seq },
        "lines of the audit log were deleted while it was written; the chain goes on after them",
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
    this.#group?.settle(false);
    this.#group = undefined;
    if (this.#isClosed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      this.#work ??= this.#write().then(() => {
        this.#work = undefined;
      });
    }, RETRY_MS).unref();
  }

  #recovered(): void {
    if (this.#problem === undefined) return;
    this.#problem = undefined;
    this.#logger.info({ file: this.#options.file }, "the audit log is written again");
  }
}

function newGroup(): Group {
  let settle: (isWritten: boolean) => void = () => {};
  const done = new Promise<boolean>((resolve) => {
    settle = resolve;
  });
  return { done, settle };
}

/** Says in the log itself that it is not whole. */
const linesLost = (count: number): AuditEvent => ({
  kind: "admin",
  method: "audit/lost",
  target: String(count),
  outcome: "lost",
});
