/** The process history of one server for operators: restarts, last start and stderr. */
import type { UpstreamObserver } from "../core/upstream.js";

/** The number of retained stderr lines, and the characters of each. */
const MAX_LINES = 50;
const MAX_LINE_LENGTH = 500;

/** Records events of one server while the process runs. */
export class ServerLife {
  /** Reconnections. */
  restarts = 0;
  /** When its last connection was opened, in ms since 1970; undefined before the first. */
  startedAt: number | undefined;
  readonly #lines: string[] = [];

  /** The last lines of its stderr, oldest first; always empty for a server that is not a process. */
  get stderr(): readonly string[] {
    return this.#lines;
  }

  readonly observer: UpstreamObserver = {
    ready: () => {
      this.startedAt = Date.now();
    },
  };

  restarted(): void {
    this.restarts += 1;
  }

  /** `line`: redacted. */
  wrote(line: string): void {
    this.#lines.push(line.slice(0, MAX_LINE_LENGTH));
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }
}
