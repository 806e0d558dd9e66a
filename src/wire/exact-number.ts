/** JSON numbers whose text says more than a double keeps. */
import { randomBytes } from "node:crypto";

/**
 * A number that JavaScript would write in another way than its sender did: `9007199254740993`, `1e400`, `1.0`, `-0`.
 * `parseJson` makes them, `writeJson` writes them. Any other writer (a log line, say) gets the nearest double.
 */
export class ExactNumber {
  /** @param source the number as JSON text */
  constructor(readonly source: string) {}

  valueOf(): number {
    return Number(this.source);
  }

  toString(): string {
    return this.source;
  }

  toJSON(): string | number {
    if (!marking.isOn) return Number(this.source);
    marking.wasUsed = true;
    return MARK + this.source;
  }
}

/** The nearest double of a JSON number, whichever way it was parsed; undefined for everything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return value instanceof ExactNumber ? Number(value.source) : undefined;
}

/** Tells `toJSON` who asks; `writeJson` alone may change it. */
export const marking = {
  isOn: false,
  /** Whether what is being written has an exact number in it. */
  wasUsed: false,
};

// Stands before the text of exact numbers for as long as JSON.stringify runs. It never leaves the process, so no peer
// can send a text that begins with it.
export const MARK = `${randomBytes(16).toString("hex")}:`;
