/** What does an operator want to know of the life of one server: how often it was started, since when, and what it says on stderr? */
import type { UpstreamObserver } from "../core/upstream.js";

/** How many lines of stderr are kept, and how many characters of each. */
const MAX_LINES = 50;
const MAX_LINE_LENGTH = 500;

/** Notes what happens to one server while the process runs. */
export class ServerLife {
  /** How often a connection was opened again. */
  restarts = 0;
  /** When its last connection was opened, in ms since 1970; undefined before the first. */
  startedAt: number | undefined;
  readonly #lines: string[] = [];

  /** The last lines that it wrote to stderr, oldest first; always empty for a server that is no process. */
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

  /** `line`: without secrets. */
  wrote(line: string): void {
    this.#lines.push(line.slice(0, MAX_LINE_LENGTH));
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }
}
