/** Can only this user have written a file? What another user could have written, and what a link leads to, is not read. */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from "node:fs";

/** A file that was read, or why it was not, as the end of a sentence about it; undefined where there is none. */
export type OwnFile =
  | { readonly ok: true; readonly bytes: Buffer; readonly modifiedAt: number }
  | { readonly ok: false; readonly reason: string }
  | undefined;

/** What other users must not be able to do with a file, as permission bits. */
export const OTHERS_MAY_NOT = { write: 0o022, readOrWrite: 0o066 } as const;

/** Reads a file of up to `maxBytes` without the permissions `forbidden`. Follows no link, waits for no pipe, never throws. */
export function readOwnFile(
  file: string,
  maxBytes: number,
  forbidden: number = OTHERS_MAY_NOT.write,
): OwnFile {
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
