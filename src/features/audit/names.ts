/** The file names of an audit log: the active file, rotated ones, and those of other workers. */
import { readdir } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";

/** The suffix of a rotated file is the number of its last line, so that names sort like lines. */
const SEQ_DIGITS = 12;

/** The name of `file` once it is rotated after the line `lastSeq`. */
export const rotatedName = (file: string, lastSeq: number): string =>
  `${file}.${String(lastSeq).padStart(SEQ_DIGITS, "0")}`;

/** The head file. */
export const headName = (file: string): string => `${file}.head`;

/** The lock file. */
export const lockName = (file: string): string => `${file}.lock`;

/** The file that says what the receiver of the log has. */
export const sinkName = (file: string): string => `${file}.sink`;

/** The file of a worker, with its number before the extension. */
export function workerFile(file: string, worker: number): string {
  const extension = extname(file);
  return `${file.slice(0, file.length - extension.length)}.${worker}${extension}`;
}

/** The number of the last line of a rotated file. */
export const lastSeqOf = (rotated: string): number => Number(rotated.slice(rotated.lastIndexOf(".") + 1));

/** The rotated files of `file`, oldest first. @throws the system error */
export async function rotatedFiles(file: string): Promise<readonly string[]> {
  const start = `${basename(file)}.`;
  const names = await readdir(dirname(file));
  return names
    .filter((name) => name.startsWith(start) && /^\d{12,}$/.test(name.slice(start.length)))
    .sort((a, b) => lastSeqOf(a) - lastSeqOf(b))
    .map((name) => join(dirname(file), name));
}

/** `file` and those of other workers, if they or their heads exist. @throws the system error */
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
