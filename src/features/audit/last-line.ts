/** Finds the last complete line of a file, and what follows it. */
import type { FileHandle } from "node:fs/promises";
import { checkLine, type ReadLine } from "./line.js";

/** The end of a file. */
export interface FileEnd {
  /** The last complete line, if it is part of the chain; undefined otherwise. */
  readonly line: ReadLine | undefined;
  /** Bytes up to the end of the last complete line. */
  readonly size: number;
  /** An incomplete line after it: the process was killed during a write. */
  readonly torn: Buffer;
}

const NEWLINE = 0x0a;
const FIRST_READ = 65_536;

/** Reads backwards from the end of the file. @throws the system error */
export async function readFileEnd(file: FileHandle): Promise<FileEnd> {
  const { size } = await file.stat();
  for (let wanted = FIRST_READ; ; wanted *= 4) {
    const tail = await readAt(file, Math.max(0, size - wanted), size);
    const end = tail.lastIndexOf(NEWLINE) + 1;
    const start = end < 2 ? 0 : tail.lastIndexOf(NEWLINE, end - 2) + 1;
    if (start === 0 && tail.length < size) continue;
    const whole = size - tail.length + end;
    const check = end === 0 ? undefined : checkLine(tail.subarray(start, end - 1));
    const line = check === undefined ? undefined : check.ok ? check.line : check.claims;
    return { line, size: whole, torn: tail.subarray(end) };
  }
}

/** The first line of a file; undefined if it is not part of the chain. @throws the system error */
export async function readFirstLine(file: FileHandle): Promise<ReadLine | undefined> {
  const { size } = await file.stat();
  for (let wanted = FIRST_READ; ; wanted *= 4) {
    const start = await readAt(file, 0, Math.min(size, wanted));
    const end = start.indexOf(NEWLINE);
    if (end === -1 && start.length < size) continue;
    const check = end === -1 ? undefined : checkLine(start.subarray(0, end));
    return check === undefined ? undefined : check.ok ? check.line : check.claims;
  }
}

async function readAt(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.alloc(to - from);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
