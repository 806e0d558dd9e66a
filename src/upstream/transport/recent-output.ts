/** The last words of a process: what it wrote to stderr most recently, kept within a fixed size. */

/** In bytes. */
const BUFFER_BYTES = 64 * 1024;
const EXCERPT_LENGTH = 400;
/** How far back (characters) an error may stand from the end. */
const SEARCH_LENGTH = 4096;

export class RecentOutput {
  readonly #size: number;
  readonly #redact: (text: string) => string;
  #ring: Buffer | undefined;
  /** How many bytes have ever been written. */
  #written = 0;

  constructor(size: number = BUFFER_BYTES, redact: (text: string) => string = (text) => text) {
    this.#size = size;
    this.#redact = redact;
  }

  push(chunk: Buffer): void {
    this.#ring ??= Buffer.alloc(this.#size);
    const kept = chunk.subarray(Math.max(0, chunk.length - this.#size));
    const skipped = chunk.length - kept.length;
    const start = (this.#written + skipped) % this.#size;
    const fits = kept.copy(this.#ring, start);
    kept.copy(this.#ring, 0, fits);
    this.#written += chunk.length;
  }

  /** Everything that is kept, oldest first. */
  get text(): string {
    if (this.#ring === undefined) return "";
    const end = this.#written % this.#size;
    const newest = this.#ring.subarray(0, end);
    const bytes = this.#written > this.#size ? Buffer.concat([this.#ring.subarray(end), newest]) : newest;
    return this.#written === this.#size ? this.#ring.toString("utf8") : bytes.toString("utf8");
  }

  /**
   * The end of it as one short line, fit to stand in a message; empty when there is nothing. Where that begins with an
   * error and goes on with a stack or with how to use the program, it is the error that is quoted.
   * Secrets are taken out while they are whole and stand as they were written.
   */
  get errorExcerpt(): string {
    // What is cut off at the beginning of this is not quoted.
    const end = this.#redact(this.text.slice(-2 * SEARCH_LENGTH))
      .slice(-SEARCH_LENGTH)
      .replace(TERMINAL_SEQUENCE, "");
    const plain = printable(end);
    if (plain.length <= EXCERPT_LENGTH) return plain;
    const error = [...end.matchAll(ERROR)].at(-1)?.index;
    if (error === undefined) return `…${plain.slice(-EXCERPT_LENGTH).toWellFormed()}`;
    const told = printable(end.slice(error));
    return told.length > EXCERPT_LENGTH ? `${told.slice(0, EXCERPT_LENGTH).toWellFormed()}…` : told;
  }
}

/** `Error: …`, `error: …`, `TypeError: …`, `mcp.shared.exceptions.McpError: …`, `Fatal …`, `panic: …`. */
const ERROR = /^[ \t]*(?:[\w.]*(?:Error|Exception)|error|ERROR|[Ff]atal|panic)\b/gm;

// Built from text, because a pattern with control characters in it reads as a mistake; here they are the point.
const ESC = String.raw`\u001b`;
const TERMINAL_SEQUENCE = new RegExp(
  `${ESC}\\[[0-?]*[ -/]*[@-~]|${ESC}\\][^\\u0007${ESC}]*(?:\\u0007|${ESC}\\\\)?`,
  "g",
);

/** `text` on one line: no terminal sequences, control or direction characters, half characters; runs of space as one. */
export function printable(text: string): string {
  return text
    .replace(TERMINAL_SEQUENCE, "")
    .replace(/\p{Cf}+/gu, "")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .toWellFormed();
}
