/**
 * Reads a file that only this user can have written. Files that another user could write, and symbolic links, are not
 * read.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from "node:fs";

/** The content, or why it was not read, as the end of a sentence; undefined if there is no file. */
export type PrivateFile =
  | { readonly ok: true; readonly bytes: Buffer; readonly modifiedAt: number }
  | { readonly ok: false; readonly reason: string }
  | undefined;

/** Permission bits that other users must not have. */
export const OTHERS_MAY_NOT = { write: 0o022, readOrWrite: 0o066 } as const;

/**
 * Reads a file of up to `maxBytes` without the permissions `forbidden`. Does not follow links, does not block on pipes,
 * never throws.
 */
export function readPrivateFile(
  file: string,
  maxBytes: number,
  forbidden: number = OTHERS_MAY_NOT.write,
): PrivateFile {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    const reason = refusalOf(stats, maxBytes, forbidden);
    if (reason !== undefined) return { ok: false, reason };
    return { ok: true, bytes: readFileSync(descriptor), modifiedAt: stats.mtimeMs };
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT") return undefined;
    return { ok: false, reason: code === "ELOOP" ? "it is a link" : `it cannot be read (${code})` };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function refusalOf(stats: Stats, maxBytes: number, forbidden: number): string | undefined {
  if (!stats.isFile()) return "it is no file";
  if (!isOwn(stats, forbidden)) return "it belongs to another user, or its permissions let others in";
  return stats.size > maxBytes ? `it is larger than ${Math.floor(maxBytes / 1024)} KiB` : undefined;
}

/** Windows has no such permissions. */
const isOwn = ({ uid, mode }: Stats, forbidden: number): boolean =>
  process.getuid === undefined || (uid === process.getuid() && (mode & forbidden) === 0);

/** The code of a system error, such as `ENOSPC`; its message for other errors. */
export function codeOf(error: unknown): string {
  if (error instanceof Error) return "code" in error ? String(error.code) : error.message;
  return String(error);
}
