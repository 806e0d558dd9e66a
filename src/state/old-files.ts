/** Deletes unused files of a folder at the start. */
import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

/** A file unused for this time (ms) belongs to a server that is no longer configured. */
const MAX_AGE_MS = 30 * 24 * 3_600_000;
/** A temporary file of this age (ms) was left by a killed gateway. */
const MAX_DRAFT_AGE_MS = 3_600_000;
/** Maximum files; the least recently used ones are deleted. */
const MAX_FILES = 1_000;

/** The suffix of a temporary file. */
export const DRAFT_SUFFIX = ".tmp";

interface FileAge {
  readonly file: string;
  readonly ageMs: number;
}

/**
 * Deletes unused files of `folder` with a name that `isOwn` accepts. Links and files of other programs stay.
 *
 * @throws the system error
 */
export async function removeOldFiles(folder: string, isOwn: (name: string) => boolean): Promise<void> {
  const ages = await agesOf(folder, (await readdir(folder)).filter(isOwn));
  const isDraft = ({ file }: FileAge): boolean => file.endsWith(DRAFT_SUFFIX);
  const drafts = ages.filter(isDraft).filter(({ ageMs }) => ageMs > MAX_DRAFT_AGE_MS);
  const kept = ages.filter((one) => !isDraft(one)).sort((a, b) => a.ageMs - b.ageMs);
  const old = kept.filter(({ ageMs }, place) => ageMs > MAX_AGE_MS || place >= MAX_FILES);
  for (const { file } of [...drafts, ...old]) await rm(file, { force: true });
}

async function agesOf(folder: string, names: readonly string[]): Promise<readonly FileAge[]> {
  const now = Date.now();
  const ages: FileAge[] = [];
  for (const name of names) {
    const file = join(folder, name);
    // Another gateway may have removed it.
    const stats = await lstat(file).catch(() => undefined);
    if (stats?.isFile() === true) ages.push({ file, ageMs: now - stats.mtimeMs });
  }
  return ages;
}
