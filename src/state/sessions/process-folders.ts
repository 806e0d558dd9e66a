/**
 * A folder of each process in one folder of this user, and whether the process of another one still runs. A process that stops
 * takes its token out; one that was killed leaves it, and is recognized by its pid and start time, or, where those say nothing here
 * (another container), by a token that is no longer renewed.
 */
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { placeOfPids } from "../../runtime/pid-namespace.js";
import { startTimesOf } from "../../runtime/process-start-times.js";
import { isObject } from "../../wire/json.js";
import { parseJson, writeJson } from "../../wire/json-text.js";

/** A process: its pid, start time, and where its pid is one. */
export interface ProcessToken {
  readonly pid: number;
  /** Absent if the system does not provide it. */
  readonly began?: string;
  readonly place: string;
}

/** Times in ms. */
export interface FolderTimes {
  /** Renewal interval of the token. */
  readonly renewMs: number;
  /** A process elsewhere is gone if its token was not renewed for this time. */
  readonly staleMs: number;
}

export const FOLDER_TIMES: FolderTimes = { renewMs: 10_000, staleMs: 30_000 };

const TOKEN = "process";
const NAME = /^[\da-f]{16}$/;
const DRAFT = /^[\da-f]{16}\.tmp$/;
/** The list of folders and what is known of a running process are read again after this time (ms). */
const KNOWN_MS = 1_000;

/** `unknown`: it may run, and its token will tell. */
export type ProcessState = "running" | "gone" | "unknown";

/** The folders of one root. */
export class ProcessFolders {
  /** Of this process, made with its first use. */
  readonly #name = randomBytes(8).toString("hex");
  #made: Promise<string> | undefined;
  #renewal: NodeJS.Timeout | undefined;
  #listed: { readonly at: number; readonly names: Promise<readonly string[]> } | undefined;
  readonly #states = new Map<string, { readonly at: number; readonly state: Promise<ProcessState> }>();

  /** @param self another process than this one, in tests */
  constructor(
    private readonly root: string,
    private readonly times: FolderTimes = FOLDER_TIMES,
    private readonly self?: ProcessToken,
  ) {}

  /** The folder of this process. @throws the system error */
  own(): Promise<string> {
    this.#made ??= this.#make().catch((error: unknown) => {
      this.#made = undefined;
      throw error;
    });
    return this.#made;
  }

  /** The folder of this process was deleted at runtime. */
  lost(): void {
    this.#made = undefined;
  }

  /** All folders, this process's first. */
  async all(): Promise<readonly { readonly path: string; readonly name: string; readonly isOwn: boolean }[]> {
    const now = performance.now();
    if (this.#listed === undefined || now - this.#listed.at > KNOWN_MS)
      this.#listed = { at: now, names: readdir(this.root).catch(() => []) };
    const names = (await this.#listed.names).filter((name) => NAME.test(name));
    const own = names.filter((name) => name === this.#name);
    const others = names.filter((name) => name !== this.#name);
    return [...own, ...others].map((name) => ({
      ...{ name, path: join(this.root, name) },
      isOwn: name === this.#name,
    }));
  }

  /** Whether the process of another folder runs. That it is gone is final. */
  async stateOf(name: string): Promise<ProcessState> {
    const now = performance.now();
    const known = this.#states.get(name);
    if (known !== undefined && (now - known.at < KNOWN_MS || (await known.state) === "gone"))
      return known.state;
    const state = this.#look(join(this.root, name));
    this.#states.set(name, { at: now, state });
    return state;
  }

  /** Removes what killed processes left half made, and empty folders of processes that are gone. Never rejects. */
  async removeEmpty(): Promise<void> {
    const drafts = (await readdir(this.root).catch(() => [])).filter((name) => DRAFT.test(name));
    for (const name of drafts) {
      const path = join(this.root, name);
      const stats = await stat(path).catch(() => undefined);
      const isOld = stats !== undefined && Date.now() - stats.mtimeMs > this.times.staleMs;
      if (isOld) await rm(path, { recursive: true, force: true }).catch(() => {});
    }
    for (const { name, path, isOwn } of await this.all()) {
      if (isOwn || (await this.stateOf(name)) !== "gone") continue;
      const content = await readdir(path).catch(() => [""]);
      if (content.some((file) => file !== TOKEN)) continue;
      await rm(join(path, TOKEN), { force: true }).catch(() => {});
      // Fails where another process has put something there.
      await rmdir(path).catch(() => {});
      this.#states.delete(name);
    }
  }

  /** This process stops: what is in its folder is for the next one. Never rejects. */
  async leave(): Promise<void> {
    clearInterval(this.#renewal);
    const made = await this.#made?.catch(() => undefined);
    if (made === undefined) return;
    await rm(join(made, TOKEN), { force: true }).catch(() => {});
    // Fails where sessions are left.
    await rmdir(made).catch(() => {});
  }

  async #make(): Promise<string> {
    const path = join(this.root, this.#name);
    const draft = `${path}.tmp`;
    const token = this.self ?? (await thisProcess());
    await mkdir(draft, { recursive: true, mode: 0o700 });
    await writeFile(join(draft, TOKEN), writeJson(token), { mode: 0o600 });
    // Atomic: no other process sees the folder without its token.
    await rename(draft, path);
    this.#listed = undefined;
    clearInterval(this.#renewal);
    this.#renewal = setInterval(() => {
      const now = new Date();
      utimes(join(path, TOKEN), now, now).catch(() => clearInterval(this.#renewal));
    }, this.times.renewMs);
    this.#renewal.unref();
    return path;
  }

  async #look(path: string): Promise<ProcessState> {
    const file = join(path, TOKEN);
    const [text, stats] = await Promise.all([
      readFile(file, "utf8").catch(codeIn),
      stat(file).catch(() => undefined),
    ]);
    if (text === NO_FILE) return "gone";
    const isRenewed = stats !== undefined && Date.now() - stats.mtimeMs < this.times.staleMs;
    const token = typeof text === "string" ? tokenIn(text) : undefined;
    if (token === undefined || token.began === undefined || token.place !== placeOfPids())
      return isRenewed ? "unknown" : "gone";
    return (await startTimesOf([token.pid])).get(token.pid) === token.began ? "running" : "gone";
  }
}

const NO_FILE = Symbol("no file");

/** Another error than a missing file says nothing of the process. */
const codeIn = (error: NodeJS.ErrnoException): typeof NO_FILE | undefined =>
  error.code === "ENOENT" ? NO_FILE : undefined;

function tokenIn(text: string): ProcessToken | undefined {
  let token: unknown;
  try {
    token = parseJson(text);
  } catch {
    // A crash of the machine can leave an empty file.
    return undefined;
  }
  if (!isObject(token) || typeof token.pid !== "number" || typeof token.place !== "string") return undefined;
  const { pid, place, began } = token;
  return { pid, place, ...(typeof began === "string" && { began }) };
}

async function thisProcess(): Promise<ProcessToken> {
  const began = (await startTimesOf([process.pid])).get(process.pid);
  return { pid: process.pid, place: placeOfPids(), ...(began !== undefined && { began }) };
}
