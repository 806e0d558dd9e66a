/** How is a file replaced so that a crash at any moment leaves the old or the new one? And which drafts does a crash leave? */
import { randomBytes } from "node:crypto";
import { lstat, open, readdir, rename, rm, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../state/own-file.js";

/** The suffix of what is being written. */
export const DRAFT_SUFFIX = ".tmp";
/** No write and no wait for a lock takes this long (ms); an older draft is what a killed process left. */
const MAX_DRAFT_AGE_MS = 600_000;

/** Creates a file with mode 0600 and waits until the disk has it. @throws the error of the system */
export type CreateFile = (file: string, bytes: Uint8Array) => Promise<void>;

/**
 * Puts `bytes` in the place of `file`, durably: draft, fsync, rename, fsync of the folder.
 *
 * @throws the error of the system; the file before it is still there then, and no draft is left
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

/** Removes `file`, durably. Whether this call has removed it: another process may have. @throws the error of the system */
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

/** Removes from `folder` the drafts of processes that were killed. @throws the error of the system */
export async function removeOldDrafts(folder: string): Promise<void> {
  const drafts = (await readdir(folder)).filter((name) => /\.[\da-f]{16}\.tmp$/.test(name));
  for (const name of drafts) {
    const path = join(folder, name);
    // Another process may have removed it meanwhile.
    const stats = await lstat(path).catch(() => undefined);
    if (stats === undefined || Date.now() - stats.mtimeMs <= MAX_DRAFT_AGE_MS) continue;
    await rm(path, { recursive: true, force: true });
  }
}

/** Creates `file`, and waits until the disk has it. @throws the error of the system */
export const createDurably: CreateFile = async (file, bytes) => {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Waits until the disk has the names in `folder`. Windows cannot, and keeps them with the files. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
