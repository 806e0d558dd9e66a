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
export function watchConfig(
  file: string,
  changed: (content: FileContent) => void,
  options: WatchOptions = {},
): ConfigWatch {
  const { pollMs = 5_000, settleMs = 100, read = () => readConfigFile(file) } = options;
  let known = options.current === undefined ? undefined : fingerprint({ text: options.current });
  let candidate: string | undefined;
  let reportUnchanged = false;
  let closed = false;
  let isPolling = false;
  let pollAgain = false;
  let settleTimer: NodeJS.Timeout | undefined;
  let folder: FSWatcher | undefined;

  const poll = async (): Promise<void> => {
    if (isPolling) {
      pollAgain = true;
      return;
    }
    isPolling = true;
    let content: FileContent;
    try {
      content = await read();
    } finally {
      isPolling = false;
    }
    if (closed) return;
    const print = fingerprint(content);
    if (pollAgain) {
      pollAgain = false;
      pollSoon();
    } else if (print === known && !reportUnchanged) {
      candidate = undefined;
    } else if (print === candidate) {
      candidate = undefined;
      known = print;
      reportUnchanged = false;
      changed(content);
    } else {
      // Seen once; reported when it is still the same a moment later.
      candidate = print;
      pollSoon();
    }
  };

  // The file cannot be read now; the next poll retries.
  const pollNow = (): void => void poll().catch(() => {});
  const pollSoon = (): void => {
    clearTimeout(settleTimer);
    settleTimer = setTimeout(pollNow, settleMs);
  };

  const open = (): void => {
    if (folder !== undefined || closed) return;
    try {
      folder = watch(dirname(file), { persistent: false }, pollSoon);
      folder.on("error", drop);
    } catch {
      // No watch is available (the folder is missing, or no watches are left): polling must suffice.
      folder = undefined;
    }
  };
  const drop = (): void => {
    folder?.close();
    folder = undefined;
  };

  open();
  const pollTimer = setInterval(() => {
    open();
    pollNow();
  }, pollMs);
  pollTimer.unref();

  return {
    check: () => {
      reportUnchanged = true;
      pollSoon();
    },
    close: () => {
      closed = true;
      clearInterval(pollTimer);
      clearTimeout(settleTimer);
      drop();
    },
  };
}

const fingerprint = (content: FileContent): string =>
  createHash("sha256")
    .update("text" in content ? `text ${content.text}` : `bad ${content.problems[0]?.message ?? ""}`)
    .digest("hex");
