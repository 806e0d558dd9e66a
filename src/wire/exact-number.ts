/** JSON numbers whose text says more than a double keeps. */

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

  toJSON(): number {
    if (stringifying.isExact) throw NOT_WRITTEN;
    return Number(this.source);
  }
}

/** The nearest double of a JSON number, whichever way it was parsed; undefined for everything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return value instanceof ExactNumber ? Number(value.source) : undefined;
}

/** Tells `toJSON` who asks; `writeJson` alone may change it. */
export const stringifying = { isExact: false };

/** Thrown out of JSON.stringify where it comes to an exact number, which it cannot write. */
export const NOT_WRITTEN: unique symbol = Symbol("an exact number");
