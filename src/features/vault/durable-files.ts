/**
 * Crash-safe file replacement: a reader finds the old or the new file. Removes temporary files that a crash left
 * behind.
 */
import { randomBytes } from "node:crypto";
import { lstat, open, readdir, rename, rm, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../../state/private-file.js";

/** The suffix of a temporary file. */
export const DRAFT_SUFFIX = ".tmp";
/** No write and no wait for a lock takes this long (ms); an older temporary file was left by a killed process. */
const MAX_DRAFT_AGE_MS = 600_000;

/** Creates a file with mode 0600 and syncs it to disk. @throws the system error */
export type CreateFile = (file: string, bytes: Uint8Array) => Promise<void>;

/**
 * Replaces `file` with `bytes`, durably: temporary file, fsync, rename, fsync of the folder.
 *
 * @throws the system error; the previous file is then intact, and no temporary file remains
 */
export async function replaceDurably(
  file: string,
  bytes: Uint8Array,
  createFile: CreateFile = createDurably,
): Promise<void> {
  const draft = `${file}.${randomBytes(8).toString("hex")}${DRAFT_SUFFIX}`;
  try {
    await createFile(draft, bytes);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(dirname(file));
}

/** Removes `file`, durably. Returns whether this call removed it: another process may have. @throws the system error */
export async function removeDurably(file: string): Promise<boolean> {
  try {
    await unlink(file);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
  await syncFolder(dirname(file));
  return true;
}

/** Removes the temporary files of killed processes from `folder`. @throws the system error */
export async function removeOldDrafts(folder: string): Promise<void> {
  const drafts = (await readdir(folder)).filter((name) => /\.[\da-f]{16}\.tmp$/.test(name));
  for (const name of drafts) {
    const path = join(folder, name);
    // Another process may have removed it.
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined || Date.now() - stats.mtimeMs <= MAX_DRAFT_AGE_MS) continue;
    await rm(path, { recursive: true, force: true });
  }
}

/** Creates `file` and syncs it to disk. @throws the system error */
export const createDurably: CreateFile = async (file, bytes) => {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Syncs the directory entries of `folder`. Windows cannot, and writes them with the files. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
