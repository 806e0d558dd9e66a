/** Which files does an audit log consist of? The one that is written, rotated ones, and those of other workers. */
import { readdir } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";

/** Rotated files end in the number of their last line, so that their names have the order of their lines. */
const SEQ_DIGITS = 12;

/** The file that `file` becomes when the line `lastSeq` was its last. */
export const rotatedName = (file: string, lastSeq: number): string =>
  `${file}.${String(lastSeq).padStart(SEQ_DIGITS, "0")}`;

/** The file that says where the chain ends. */
export const headName = (file: string): string => `${file}.head`;

/** The file with the process that writes. */
export const lockName = (file: string): string => `${file}.lock`;

/** The file of a worker: its number stands before the extension. */
export function workerFile(file: string, worker: number): string {
  const extension = extname(file);
  return `${file.slice(0, file.length - extension.length)}.${worker}${extension}`;
}

/** The rotated files of `file`, oldest first. @throws the error of the system */
export async function rotatedFiles(file: string): Promise<readonly string[]> {
  const start = `${basename(file)}.`;
  const names = await readdir(dirname(file));
  return names
    .filter((name) => name.startsWith(start) && /^\d{12,}$/.test(name.slice(start.length)))
    .sort((a, b) => Number(a.slice(start.length)) - Number(b.slice(start.length)))
    .map((name) => join(dirname(file), name));
}

/** `file` and those of workers beside it, as far as they or their heads exist. @throws the error of the system */
export async function logsBeside(file: string): Promise<readonly string[]> {
  const names = await readdir(dirname(file));
  const extension = extname(file);
  const stem = basename(file, extension);
  const isLog = (name: string): boolean =>
    name === basename(file) ||
    (name.startsWith(`${stem}.`) &&
      name.endsWith(extension) &&
      /^\d{1,3}$/.test(name.slice(stem.length + 1, name.length - extension.length)));
  const logs = new Set(names.map((name) => name.replace(/\.head$/, "")).filter(isLog));
  return [...logs].sort().map((name) => join(dirname(file), name));
}
