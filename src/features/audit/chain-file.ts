/**
 * The active file of the log: opened at the end of the chain, appended, rotated and closed. One process has it at a
 * time.
 */

import { constants, fstatSync, ftruncateSync, writeSync } from "node:fs";
import { type FileHandle, open, rename, rm, writeFile } from "node:fs/promises";
import { type Head, readHead, writeHead } from "./head.js";
import { readFileEnd, readFirstLine } from "./last-line.js";
import {
  CHAIN_START,
  type ChainPosition,
  digestWith,
  type LineDigest,
  sealLine,
  type WrittenEvent,
} from "./line.js";
import { takeLock } from "./lock.js";
import { headName, lastSeqOf, rotatedFiles, rotatedName } from "./names.js";
import type { AuditConfig } from "./section.js";
import type { AuditEvent } from "./types.js";

/** The state of the file when it was opened. */
export type Found = "new" | "whole" | "torn" | "cut";

const FLAGS = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
const HEAD_FLAGS = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
/** Only its user may read it. */
const MODE = 0o600;
const OTHERS = 0o077;
/** Interval (ms) in which the file is checked for deletion once: the check takes as long as a write. */
const CHECK_MS = 2;

/** An open log. After an error it is closed, and a new one opened. */
export class ChainFile {
  readonly found: Found;
  #file: FileHandle;
  readonly #head: FileHandle;
  readonly #unlock: () => Promise<void>;
  readonly #now: () => Date;
  readonly #options: ChainFileOptions;
  readonly #digest: LineDigest;
  #size: number;
  /** When its first line was written, in ms since 1970; undefined while it is empty. */
  #begunAt: number | undefined;
  #position: ChainPosition;
  #before: ChainPosition;
  /** When the file was last found in its folder, in ms since 1970. */
  #checkedAt = Number.NaN;

  private constructor(opened: Opened, options: ChainFileOptions, now: () => Date) {
    this.found = opened.found;
    this.#file = opened.file;
    this.#head = opened.head;
    this.#unlock = opened.unlock;
    this.#options = options;
    this.#digest = digestWith(options.key);
    this.#now = now;
    this.#size = opened.size;
    this.#begunAt = opened.begunAt;
    this.#position = opened.position;
    this.#before = opened.before;
  }

  /**
   * Opens the log at its end. A torn last line is saved in `FILE.torn-SEQ`. If lines are missing that the head or
   * `known` names, the chain continues after them, so that `verify` always finds the gap.
   *
   * @throws Error if another process writes it, and the system error
   */
  static async open(
    options: ChainFileOptions,
    now: () => Date = () => new Date(),
    known: ChainPosition = CHAIN_START,
  ): Promise<ChainFile> {
    const unlock = await takeLock(options.file);
    const handles: FileHandle[] = [];
    try {
      const file = await openOwn(options.file, FLAGS);
      handles.push(file);
      const head = await openOwn(headName(options.file), HEAD_FLAGS);
      handles.push(head);
      const opened = await findEnd(options.file, file, head, known);
      const chain = new ChainFile({ ...opened, file, head, unlock }, options, now);
      await chain.writeHead();
      return chain;
    } catch (error) {
      for (const handle of handles) await handle.close();
      await unlock();
      throw error;
    }
  }

  get position(): ChainPosition {
    return this.#position;
  }

  /** Whether `rotate` is due before the next line. */
  get isFull(): boolean {
    const { sizeBytes, everyMs } = this.#options.rotate;
    if (this.#size === 0) return false;
    if (this.#size >= sizeBytes) return true;
    return (
      everyMs !== undefined && this.#begunAt !== undefined && this.#now().getTime() - this.#begunAt >= everyMs
    );
  }

  /**
   * Writes a line per event; the system has them when it returns. On an error none of them is in the file, as far as
   * the system allows.
   *
   * @throws the system error
   */
  append(events: readonly (AuditEvent | WrittenEvent)[]): void {
    if (events.length === 0) return;
    let position = this.#position;
    let text = "";
    for (const event of events) {
      const line = sealLine(event, position, this.#now, this.#digest);
      position = line;
      text += line.text;
    }
    const bytes = Buffer.from(text);
    const { fd } = this.#file;
    try {
      writeAll(fd, bytes);
      this.#checkNotDeleted(fd);
    } catch (error) {
      // A partial line would be saved as torn, and whole lines duplicated.
      tryTruncate(fd, this.#size);
      throw error;
    }
    this.#position = { seq: position.seq, hash: position.hash };
    this.#size += bytes.length;
    this.#begunAt ??= this.#now().getTime();
  }

  /** A line that is written within `CHECK_MS` after a deletion is deleted like those before. @throws Error */
  #checkNotDeleted(fd: number): void {
    const now = this.#now().getTime();
    // The time of day can be set back.
    if (now >= this.#checkedAt && now - this.#checkedAt < CHECK_MS) return;
    if (fstatSync(fd).nlink === 0) throw new Error("the file was deleted");
    this.#checkedAt = now;
  }

  /**
   * Renames the file after its last line, starts a new one, and deletes files beyond `keep`. @throws the system error
   */
  async rotate(): Promise<void> {
    await this.#file.datasync();
    await this.writeHead();
    const { file: path } = this.#options;
    await rename(path, rotatedName(path, this.#position.seq));
    const file = await openOwn(path, FLAGS);
    await this.#file.close();
    this.#file = file;
    this.#size = 0;
    this.#begunAt = undefined;
    await this.#deleteOld();
  }

  /** Writes the head. @throws the system error */
  async writeHead(): Promise<void> {
    const { key } = this.#options;
    await writeHead(
      this.#head,
      { ...this.#position, before: this.#before },
      key === undefined ? undefined : this.#digest,
    );
  }

  /** Syncs to disk and releases the lock. Never throws; the handles are closed in any case. */
  async close(): Promise<void> {
    const works = [
      () => this.writeHead(),
      () => this.#file.datasync(),
      () => this.#file.close(),
      () => this.#head.close(),
      this.#unlock,
    ];
    // The error was reported when a line could not be written.
    for (const work of works) await work().catch(() => {});
  }

  /**
   * The head is updated before files are deleted, so that a crash in between leaves one file too many rather than too
   * few. A file with a line that is needed stays.
   */
  async #deleteOld(): Promise<void> {
    const { file: path, rotate, isNeeded } = this.#options;
    const { keep } = rotate;
    if (keep === undefined) return;
    const files = await rotatedFiles(path);
    const old = files.slice(0, Math.max(0, files.length - keep));
    while (old.length > 0 && isNeeded?.(lastSeqOf(old.at(-1) ?? "")) === true) old.pop();
    const oldest = files[old.length];
    if (old.length === 0) return;
    const first = oldest === undefined ? undefined : await firstLineOf(oldest);
    this.#before = first === undefined ? this.#position : { seq: first.seq - 1, hash: first.prev };
    await this.writeHead();
    for (const file of old) await rm(file, { force: true });
  }
}

/** The settings of the file, from the config. */
export interface ChainFileOptions
  extends Pick<AuditConfig, "file" | "rotate">,
    Partial<Pick<AuditConfig, "key">> {
  /** Whether the line with this number must stay, whatever `rotate.keep` says. Default: none must. */
  readonly isNeeded?: (seq: number) => boolean;
}

interface End {
  readonly found: Found;
  readonly size: number;
  readonly begunAt: number | undefined;
  readonly position: ChainPosition;
  readonly before: ChainPosition;
}
interface Opened extends End {
  readonly file: FileHandle;
  readonly head: FileHandle;
  readonly unlock: () => Promise<void>;
}

/** The end of the chain, after saving a torn line. */
async function findEnd(
  path: string,
  file: FileHandle,
  headFile: FileHandle,
  known: ChainPosition,
): Promise<End> {
  const { line, size, torn } = await readFileEnd(file);
  const head = readHead(await headFile.readFile("utf8"));
  const rotated = await rotatedFiles(path);
  const last = line ?? (await lastLineOf(rotated.at(-1)));
  const claimed = [known, ...(head === undefined ? [] : [head])].reduce(later);
  const there = last === undefined ? CHAIN_START : { seq: last.seq, hash: last.hash };
  const position = later(claimed, there);
  if (torn.length > 0) {
    await writeFile(`${path}.torn-${position.seq + 1}`, torn, { mode: MODE, flag: "a" });
    await file.truncate(size);
  }
  const first = await readFirstLine(file);
  const isCut = position.seq > there.seq;
  const isNew = position.seq === 0;
  return {
    found: isCut ? "cut" : torn.length > 0 ? "torn" : isNew ? "new" : "whole",
    size,
    begunAt: first === undefined ? undefined : timeOf(first.members.at),
    position: { seq: position.seq, hash: position.hash },
    before: head?.before ?? (await beforeOldest(rotated[0], first)),
  };
}

const later = (one: ChainPosition, other: ChainPosition): ChainPosition =>
  one.seq > other.seq ? one : other;

const timeOf = (at: unknown): number | undefined => {
  const time = Date.parse(String(at));
  return Number.isNaN(time) ? undefined : time;
};

/** The link before the first existing line, if no head names it. */
async function beforeOldest(
  rotated: string | undefined,
  own: Awaited<ReturnType<typeof readFirstLine>>,
): Promise<Head["before"]> {
  const first = (rotated === undefined ? undefined : await firstLineOf(rotated)) ?? own;
  return first === undefined ? CHAIN_START : { seq: first.seq - 1, hash: first.prev };
}

const firstLineOf = (path: string) => reading(path, readFirstLine);
const lastLineOf = async (path: string | undefined) =>
  path === undefined ? undefined : (await reading(path, readFileEnd)).line;

async function reading<T>(path: string, read: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return await read(file);
  } finally {
    await file.close();
  }
}

async function openOwn(path: string, flags: number): Promise<FileHandle> {
  const file = await open(path, flags, MODE);
  const stats = await file.stat();
  if (stats.isFile()) {
    if ((stats.mode & OTHERS) !== 0) await file.chmod(MODE);
    return file;
  }
  await file.close();
  throw new Error(`${path} is no file`);
}

/**
 * Synchronous, like loggers: a thread of the pool costs several times the system call, and replies wait for it anyway.
 */
function writeAll(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; )
    written += writeSync(fd, bytes, written, bytes.length - written);
}

function tryTruncate(fd: number, size: number): void {
  try {
    ftruncateSync(fd, size);
  } catch {
    // The error of the write is reported.
  }
}
