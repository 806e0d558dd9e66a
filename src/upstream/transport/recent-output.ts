/** What a process wrote to stderr most recently (a ring buffer), and which part explains its failure. */

import { indexOfError } from "../../core/error-output.js";
import { HIDDEN_CHARACTERS } from "../../wire/readable-text.js";

/** In bytes. */
const BUFFER_BYTES = 64 * 1024;
const EXCERPT_LENGTH = 400;
/** The tail that is searched for an error, in characters. */
const SEARCH_LENGTH = 8192;

/** A ring buffer of output. */
export class RecentOutput {
  readonly #size: number;
  readonly #redact: (text: string) => string;
  #ring: Buffer | undefined;
  /** Bytes written in total. */
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

  /** The kept output, oldest first. */
  get text(): string {
    if (this.#ring === undefined) return "";
    const end = this.#written % this.#size;
    const newest = this.#ring.subarray(0, end);
    const bytes = this.#written > this.#size ? Buffer.concat([this.#ring.subarray(end), newest]) : newest;
    return this.#written === this.#size ? this.#ring.toString("utf8") : bytes.toString("utf8");
  }

  /**
   * The end of the output as one line of at most 400 characters; empty without output. When an error is followed by a
   * stack trace or usage text, the error is quoted. Secrets are redacted before the text is cut.
   */
  get errorExcerpt(): string {
    // Twice the length: a secret that is cut at its beginning is not in the quoted half.
    const end = this.#redact(this.text.slice(-2 * SEARCH_LENGTH))
      .slice(-SEARCH_LENGTH)
      .replace(TERMINAL_SEQUENCE, "");
    const plain = printable(end);
    if (plain.length <= EXCERPT_LENGTH) return plain;
    const lines = end.split("\n");
    const error = indexOfError(lines);
    if (error === undefined) return `…${plain.slice(-EXCERPT_LENGTH).toWellFormed()}`;
    const told = printable(lines.slice(error).join("\n"));
    return told.length > EXCERPT_LENGTH ? `${told.slice(0, EXCERPT_LENGTH).toWellFormed()}…` : told;
  }
}

// Built from text, because linters refuse control characters in regular expressions.
const ESC = String.raw`\u001b`;
const TERMINAL_SEQUENCE = new RegExp(
  `${ESC}\\[[0-?]*[ -/]*[@-~]|${ESC}\\][^\\u0007${ESC}]*(?:\\u0007|${ESC}\\\\)?`,
  "g",
);

/** `text` on one line, without terminal sequences, control, format or lone surrogate characters; spaces collapsed. */
export function printable(text: string): string {
  return text
    .replace(TERMINAL_SEQUENCE, "")
    .replace(/(?:\p{Cc}|[^\S\ufeff])+/gu, " ")
    .replace(HIDDEN_CHARACTERS, "")
    .trim()
    .toWellFormed();
}
