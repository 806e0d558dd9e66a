/** The cached state of one server between two runs of the gateway, and when it is written. */
import { lutimesSync } from "node:fs";
import { lutimes } from "node:fs/promises";
import type { Logger } from "../../core/logger.js";
import type { PersistedLists, PersistedServer, ServerStore } from "../../core/persisted-lists.js";
import { withTimeout } from "../../core/stop.js";
import { runSteps } from "../../runtime/cooperative-yield.js";
import { readPrivateFile } from "../../state/private-file.js";
import type { JsonObject } from "../../wire/json.js";
import { decodeListFile, encodeListFile, MAX_FILE_BYTES, type Seal } from "./list-file.js";

/** Dependencies of a file. */
export interface ServerFileOptions {
  /** Its key in the config, for messages. */
  readonly server: string;
  readonly path: string;
  /** The version of the gateway. */
  readonly version: string;
  readonly log: Logger;
  readonly seal: Seal;
  /** Replaces the file. Resolves to whether it succeeded; never rejects. */
  readonly write: (path: string, text: readonly string[]) => Promise<boolean>;
}

/** Changes within this time (ms) are written together. */
const DELAY_MS = 1_000;
/** The least time (ms) between two writes: a server whose lists change all the time costs one sync of the disk in ten seconds. */
const MIN_INTERVAL_MS = 10_000;
/** How long (ms) the close of a server waits for a disk that does not respond. */
const CLOSE_MS = 5_000;
/** Precision (ms) of a file's last-use time, which decides which files are old. */
const USE_MS = 24 * 3_600_000;

/** The file of one server. */
export class ServerFile implements ServerStore {
  readonly #options: ServerFileOptions;
  /** Undefined after `followLists`: from then on the lists contain what they took from here. */
  #read: PersistedServer | undefined;
  #memory: () => JsonObject | undefined = () => this.#read?.memory;
  #lists: (() => PersistedLists) | undefined;
  /** The digest of the content on disk. */
  #digest: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When the next write may begin, by the monotonic clock. */
  #notBefore = 0;
  /** The last write; the next one waits for it. */
  #saving: Promise<void> = Promise.resolve();
  #isClosed = false;
  #hasLoggedSize = false;

  /** Reads the file if it exists. */
  constructor(options: ServerFileOptions) {
    this.#options = options;
    const { path, seal, server, log } = options;
    const file = readPrivateFile(path, MAX_FILE_BYTES);
    if (file === undefined) return;
    const decoded = file.ok ? decodeListFile(file.bytes, seal) : file;
    if (!decoded.ok) {
      const sentence = `the kept lists of ${server} are not used: ${decoded.reason}; they are loaded again`;
      log.warn({ server, file: path }, sentence);
      return;
    }
    this.#read = decoded.server;
    this.#digest = decoded.content;
    if (file.ok && Date.now() - file.modifiedAt > USE_MS) markUsed(path);
  }

  get known(): PersistedServer | undefined {
    if (this.#lists === undefined) return this.#read;
    return { ...this.#lists(), memory: this.#memory() };
  }

  followMemory(memory: () => JsonObject | undefined): void {
    this.#memory = memory;
  }

  followLists(lists: () => PersistedLists): void {
    this.#lists = lists;
    this.#read = undefined;
  }

  changed(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    const delayMs = Math.max(DELAY_MS, this.#notBefore - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#notBefore = performance.now() + MIN_INTERVAL_MS;
      this.#save();
    }, delayMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const hasChanged = this.#timer !== undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (hasChanged) this.#save();
    await withTimeout(
      CLOSE_MS,
      this.#saving.then(() => this.#markUsed()),
    );
  }

  async #markUsed(): Promise<void> {
    if (this.#digest === undefined) return;
    const now = new Date();
    // If the file is missing, perhaps deleted as old, there is nothing to touch.
    await lutimes(this.#options.path, now, now).catch(() => {});
  }

  #save(): void {
    const { log } = this.#options;
    this.#saving = this.#saving
      .then(() => this.#write())
      .catch((error: unknown) => log.error({ error }, "lists could not be cached on disk"));
  }

  async #write(): Promise<void> {
    const { known } = this;
    if (known === undefined || this.#lists === undefined) return;
    const { version, seal, path, write, server, log } = this.#options;
    const file = await runSteps(encodeListFile(known, version, seal));
    if (file === undefined) {
      if (!this.#hasLoggedSize)
        log.info({ server }, `the lists of ${server} are too large to be kept on disk`);
      this.#hasLoggedSize = true;
      return;
    }
    if (file.content === this.#digest) return;
    if (await write(path, file.text)) this.#digest = file.content;
  }
}

function markUsed(path: string): void {
  const now = new Date();
  try {
    lutimesSync(path, now, now);
  } catch {
    // A folder that cannot be written is reported at the first write.
  }
}
