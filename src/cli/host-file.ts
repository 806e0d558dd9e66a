/** Writes a host's config file: a backup first, then the new text atomically. */
import { chmod, constants, copyFile, mkdir, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type Replacement, replaceFile } from "./host-files/edit.js";

/** Copies the file and returns the copy's path: the first free of `.bak`, `.bak.2`, `.bak.3` … */
export async function backUp(file: string): Promise<string> {
  for (let count = 1; ; count += 1) {
    const copy = count === 1 ? `${file}.bak` : `${file}.bak.${count}`;
    try {
      await copyFile(file, copy, constants.COPYFILE_EXCL);
      return copy;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
}

/** Removes all permissions of other users. */
export async function closeToOthers(file: string): Promise<void> {
  const { mode } = await stat(file);
  if ((mode & 0o077) !== 0) await chmod(file, mode & 0o700);
}

/** Replaces the file, or creates it with its folders; a new file is readable by its owner only. */
export async function writeHostFile(file: string, text: Replacement, isPresent: boolean): Promise<void> {
  if (isPresent) return replaceFile(file, text);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text.after, { flag: "wx", mode: 0o600 });
}
