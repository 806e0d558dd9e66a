/** Watches the content of the config file, however the file is replaced. */
import { createHash } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";
import { readConfigFile } from "./load.js";
import type { BadConfig } from "./read.js";

/** The content of the file, or why it cannot be read. */
export type FileContent = { readonly text: string } | BadConfig;

/** How a config file is watched. */
export interface WatchOptions {
  /** The current content. */
  readonly current?: string;
  /** Polling interval in ms: some file systems send no events. Default 5,000. */
  readonly pollMs?: number;
  /** How long the content must be stable before it is reported, in ms: it may be half written. Default 100. */
  readonly settleMs?: number;
  /** How the file is read. Default: from the disk. */
  readonly read?: () => Promise<FileContent>;
}

/** A running watch. */
export interface ConfigWatch {
  /** Reads immediately, and reports the content even if it is unchanged. */
  check(): void;
  close(): void;
}

/**
 * Calls `changed` with each new content, or with why there is none. The folder is watched, because a file may be
 * replaced as a whole, and because in Kubernetes the change is that of a symbolic link beside it.
 */
export const watchConfig = (
  file: string,
  changed: (content: FileContent) => void,
  options: WatchOptions = {},
): ConfigWatch => new FileWatch(file, changed, options);

class FileWatch implements ConfigWatch {
  readonly #file: string;
  readonly #changed: (content: FileContent) => void;
  readonly #read: () => Promise<FileContent>;
  readonly #settleMs: number;
  readonly #pollTimer: NodeJS.Timeout;
  #known: string | undefined;
  /** Seen once; reported when it is still the same a moment later. */
  #candidate: string | undefined;
  #reportUnchanged = false;
  #isClosed = false;
  #isPolling = false;
  #pollAgain = false;
  #settleTimer: NodeJS.Timeout | undefined;
  #folder: FSWatcher | undefined;

  constructor(file: string, changed: (content: FileContent) => void, options: WatchOptions) {
    const { pollMs = 5_000, settleMs = 100, read = () => readConfigFile(file), current } = options;
    this.#file = file;
    this.#changed = changed;
    this.#read = read;
    this.#settleMs = settleMs;
    this.#known = current === undefined ? undefined : fingerprint({ text: current });
    this.#open();
    this.#pollTimer = setInterval(() => {
      this.#open();
      this.#pollNow();
    }, pollMs);
    this.#pollTimer.unref();
  }

  check(): void {
    this.#reportUnchanged = true;
    this.#pollSoon();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#pollTimer);
    clearTimeout(this.#settleTimer);
    this.#drop();
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) {
      this.#pollAgain = true;
      return;
    }
    this.#isPolling = true;
    let content: FileContent;
    try {
      content = await this.#read();
    } finally {
      this.#isPolling = false;
    }
    if (this.#isClosed) return;
    if (this.#pollAgain) {
      this.#pollAgain = false;
      this.#pollSoon();
    } else this.#take(content);
  }

  #take(content: FileContent): void {
    const print = fingerprint(content);
    if (print === this.#known && !this.#reportUnchanged) {
      this.#candidate = undefined;
    } else if (print === this.#candidate) {
      this.#candidate = undefined;
      this.#known = print;
      this.#reportUnchanged = false;
      this.#changed(content);
    } else {
      this.#candidate = print;
      this.#pollSoon();
    }
  }

  /** The file may not be readable now; the next poll tries again. */
  #pollNow(): void {
    this.#poll().catch(() => {});
  }

  #pollSoon(): void {
    clearTimeout(this.#settleTimer);
    this.#settleTimer = setTimeout(() => this.#pollNow(), this.#settleMs);
  }

  #open(): void {
    if (this.#folder !== undefined || this.#isClosed) return;
    try {
      this.#folder = watch(dirname(this.#file), { persistent: false }, () => this.#pollSoon());
      this.#folder.on("error", () => this.#drop());
    } catch {
      // No watch is available (the folder is missing, or no watches are left): polling must suffice.
      this.#folder = undefined;
    }
  }

  #drop(): void {
    this.#folder?.close();
    this.#folder = undefined;
  }
}

const fingerprint = (content: FileContent): string =>
  createHash("sha256")
    .update("text" in content ? `text ${content.text}` : `bad ${content.problems[0]?.message ?? ""}`)
    .digest("hex");
