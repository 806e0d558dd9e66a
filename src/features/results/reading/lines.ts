/** A text by its lines. A line that is longer than a page counts as several. */
import { fittingLength } from "./escaped.js";

/** The lines of one text. */
export class Lines {
  readonly #text: string;
  /** The index at which each line starts, and the length of the text. */
  readonly #starts: number[] = [];

  /** @param width the longest line, in characters of a JSON string */
  constructor(text: string, width: number) {
    this.#text = text;
    const starts = this.#starts;
    let at = 0;
    while (at < text.length) {
      const newline = text.indexOf("\n", at);
      const end = newline === -1 ? text.length : newline;
      starts.push(at);
      // A short line fits whatever its characters are.
      if ((end - at) * 6 > width) {
        for (
          let length = fittingLength(text, at, end, width);
          at + length < end;
          length = fittingLength(text, at, end, width)
        ) {
          at += length;
          starts.push(at);
        }
      }
      at = newline === -1 ? text.length : newline + 1;
    }
    starts.push(text.length);
  }

  get count(): number {
    return this.#starts.length - 1;
  }

  /** Without its line break. */
  line(index: number): string {
    const start = this.#starts[index] ?? this.#text.length;
    const end = this.#starts[index + 1] ?? this.#text.length;
    const last = this.#text.charCodeAt(end - 1);
    return this.#text.slice(start, end > start && last === NEWLINE ? end - 1 : end);
  }

  /** The line that has the character at `index`. */
  lineOf(index: number): number {
    let low = 0;
    let high = this.count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

const NEWLINE = 10;
