/** What is wrong with a config, as a line that an editor can jump to. */
import { type Fault, MAX_FAULTS } from "./tree.js";

/** One problem of a config with its position; never contains values. */
export interface Problem {
  /** As the person named it. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units, as editors count. */
  readonly column: number;
  /** A plain sentence; never a value. */
  readonly message: string;
}

/** `cardea.jsonc:4:13: listen.http.port must be a whole number` */
export function formatProblem({ file, line, column, message }: Problem): string {
  return `${file}:${line}:${column}: ${message}`;
}

/** Turns offsets of one text into lines and columns. */
export class SourcePositions {
  readonly #file: string;
  readonly #lineStarts: readonly number[];

  constructor(file: string, text: string) {
    this.#file = file;
    const starts = [0];
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
    this.#lineStarts = starts;
  }

  problem({ offset, message }: Fault): Problem {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return {
      file: this.#file,
      line: low + 1,
      column: offset - (this.#lineStarts[low] ?? 0) + 1,
      message,
    };
  }

  /** The first ones, in the order of the text, without duplicates; the last says how many more there are. */
  problems(faults: readonly Fault[]): readonly Problem[] {
    const seen = new Set<string>();
    const distinct = [...faults]
      .sort((a, b) => a.offset - b.offset)
      .filter(({ offset, message }) => {
        const key = `${offset} ${message}`;
        return !seen.has(key) && seen.add(key);
      });
    const shown = distinct.slice(0, MAX_FAULTS);
    const next = distinct[MAX_FAULTS];
    const more = { offset: next?.offset ?? 0, message: `${distinct.length - shown.length} more problems` };
    return [...shown, ...(next === undefined ? [] : [more])].map((fault) => this.problem(fault));
  }
}
