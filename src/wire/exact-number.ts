/** How are JSON numbers kept that a double would change? */

/**
 * A number that JavaScript would serialize differently from its source: `9007199254740993`, `1e400`, `1.0`, `-0`.
 * `parseJson` creates them, `writeJson` writes them back. Other serializers (log lines) get the nearest double.
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

/** A JSON number as a double; undefined for everything else. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return value instanceof ExactNumber ? Number(value.source) : undefined;
}

/** Set by `writeJson` while it calls JSON.stringify. */
export const stringifying = { isExact: false };

/** Thrown out of JSON.stringify at an exact number, which it cannot write. */
export const NOT_WRITTEN: unique symbol = Symbol("an exact number");
