/** What `cardea install` has written into the file of a host, for `--undo`: digests and names, no values. */
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { readPrivateFile } from "../state/private-file.js";
import { stateFolder } from "../state/state-folder.js";
import { isObject, type JsonObject, stringAt } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";
import { writePrivateJson } from "./private-json.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** A change of a host's file. */
interface InstalledChange {
  readonly file: string;
  /** The copy of the file before; undefined if there was no file. */
  readonly backup: string | undefined;
  readonly before: string;
  readonly after: string;
  readonly entry: Readonly<Record<string, unknown>>;
  /** Servers that were taken out of it. */
  readonly removed: readonly string[];
}

/** What is remembered of the changes of one host's file since the last undo. */
export interface InstallRecord {
  readonly file: string;
  /** The copy from before the first of them. */
  readonly backup: string | undefined;
  /** Of the whole text after the last one. */
  readonly text: string;
  /** Of the entry. */
  readonly entry: string;
  /** Of all of them. */
  readonly removed: readonly string[];
}

const MAX_BYTES = 65_536;

/** Adds the change to those of this host's file that are known. @throws the error of the system */
export async function rememberInstall(
  env: Environment,
  host: string,
  change: InstalledChange,
): Promise<void> {
  const { file, backup, before, after, entry, removed } = change;
  const known = installRecord(env, host);
  // Text that another program has changed in between would be lost with an older backup.
  const first = known?.file === file && known.text === digestOf(before) ? known : undefined;
  const kept = first === undefined ? backup : first.backup;
  await writePrivateJson(fileFor(env, host), {
    file,
    ...(kept !== undefined && { backup: kept }),
    ...{ text: digestOf(after), entry: digestOfEntry(entry) },
    removed: [...new Set([...(first?.removed ?? []), ...removed])],
  });
}

/** Undefined if nothing was installed, or all of it was taken back. */
export function installRecord(env: Environment, host: string): InstallRecord | undefined {
  const kept = readPrivateFile(fileFor(env, host), MAX_BYTES);
  if (kept?.ok !== true) return undefined;
  let value: unknown;
  try {
    value = parseJson(kept.bytes.toString("utf8"));
  } catch {
    return undefined;
  }
  return isObject(value) ? recordIn(value) : undefined;
}

function recordIn(value: JsonObject): InstallRecord | undefined {
  const [file, text, entry] = [stringAt(value, "file"), stringAt(value, "text"), stringAt(value, "entry")];
  if (file === undefined || text === undefined || entry === undefined) return undefined;
  const { removed } = value;
  const names = Array.isArray(removed)
    ? removed.filter((name): name is string => typeof name === "string")
    : [];
  return { file, backup: stringAt(value, "backup"), text, entry, removed: names };
}

/** @throws the error of the system */
export const forgetInstall = (env: Environment, host: string): Promise<void> =>
  rm(fileFor(env, host), { force: true });

/** Of a text. */
export const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Of an entry, whatever the order of its members. */
export const digestOfEntry = (entry: unknown): string => digestOf(JSON.stringify(ordered(entry)));

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([key, member]) => [key, ordered(member)] as const);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const fileFor = (env: Environment, host: string): string =>
  join(stateFolder(env), "installs", `${host}.json`);
