/** The random key of a folder, from which file names and seals are derived. */
import { createHmac, type Hmac, randomBytes } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { codeOf, OTHERS_MAY_NOT, readPrivateFile } from "./private-file.js";

const KEY = /^[\da-f]{64}\n$/;
const FILE = "key";
const MAX_BYTES = 1024;

/** A key, and why the previous one was not used; absent if there was none. */
export interface StateKey {
  readonly key: string;
  readonly replaced?: string;
}

/**
 * The key of `folder`, created if missing. A key that another user may have read or written is replaced, which
 * invalidates all its files.
 *
 * @throws the system error
 */
export function readStateKey(folder: string): StateKey {
  const known = keyIn(folder);
  if (known.key !== undefined) return { key: known.key };
  writeStateKey(folder, randomBytes(32).toString("hex"), known.reason !== undefined);
  // Another gateway may have created one at the same time; the first one counts.
  const { key, reason = "it cannot be read" } = keyIn(folder);
  if (key === undefined) throw new Error(`${join(folder, FILE)} cannot be used: ${reason}`);
  return { key, ...(known.reason !== undefined && { replaced: known.reason }) };
}

function keyIn(folder: string): { readonly key?: string; readonly reason?: string } {
  const file = readPrivateFile(join(folder, FILE), MAX_BYTES, OTHERS_MAY_NOT.readOrWrite);
  if (file === undefined) return {};
  if (!file.ok) return file;
  const text = file.bytes.toString("latin1");
  return KEY.test(text) ? { key: text.trimEnd() } : { reason: "it is no key" };
}

/** Writes `key` if there is none, or in any case with `replace`. Atomic. @throws the system error */
export function writeStateKey(folder: string, key: string, replace = false): void {
  const file = join(folder, FILE);
  const draft = `${file}.${randomBytes(8).toString("hex")}.tmp`;
  try {
    const descriptor = openSync(draft, "wx", 0o600);
    try {
      writeSync(descriptor, `${key}\n`);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (replace) renameSync(draft, file);
    else linkOrRename(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Unlike a rename, a link fails if the file exists. Some file systems have no links. */
function linkOrRename(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    renameSync(draft, file);
  }
}

/** The HMAC-SHA256 under `key`, which begins with `parts`. */
export function hmac(key: string, ...parts: readonly string[]): Hmac {
  const mac = createHmac("sha256", key);
  for (const part of parts) mac.update(part);
  return mac;
}
