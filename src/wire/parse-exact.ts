/** How is JSON parsed with the source of every number that JavaScript would serialize differently? */
import { ExactNumber } from "./exact-number.js";
import { endOfNumber, isNonCanonical } from "./non-canonical-numbers.js";
import { endOfString, skipSpace } from "./result-span.js";

/**
 * Parses `text`, which JSON.parse must have accepted before; nothing is checked again. It recurses, so check the depth
 * before.
 */
export function parseExact(text: string): unknown {
  return new ExactReader(text).value();
}

interface RecentNumber {
  readonly source: string;
  readonly value: number | ExactNumber;
}

class ExactReader {
  readonly #text: string;
  /** The last short number by hash. */
  readonly #recent: (RecentNumber | undefined)[] = [];
  /** The index of the next value, key or separator, or of white space before it. */
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): unknown {
    switch (this.#next()) {
      case OPEN_OBJECT:
        return this.#object();
      case OPEN_ARRAY:
        return this.#array();
      case QUOTE:
        return this.#string();
      case TRUE:
        this.#at += 4;
        return true;
      case FALSE:
        this.#at += 5;
        return false;
      case NULL:
        this.#at += 4;
        return null;
      default:
        return this.#number();
    }
  }

  #object(): object {
    const object: Record<string, unknown> = {};
    this.#at++;
    while (this.#next() !== CLOSE_OBJECT) {
      const key = this.#string();
      // The colon.
      this.#next();
      this.#at++;
      const value = this.value();
      if (key === "__proto__") {
        // Assigning to `__proto__` would set the prototype.
        Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
      } else object[key] = value;
      if (this.#next() === COMMA) this.#at++;
    }
    this.#at++;
    return object;
  }

  #array(): unknown[] {
    const array: unknown[] = [];
    this.#at++;
    while (this.#next() !== CLOSE_ARRAY) {
      array.push(this.value());
      if (this.#next() === COMMA) this.#at++;
    }
    this.#at++;
    return array;
  }

  #string(): string {
    const start = this.#at;
    this.#at = endOfString(this.#text, start) + 1;
    const plain = this.#text.slice(start + 1, this.#at - 1);
    // A longer slice would keep the whole text in memory.
    if (plain.length <= MAX_COPIED_LENGTH && !plain.includes("\\")) return plain;
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #number(): number | ExactNumber {
    const text = this.#text;
    const start = this.#at;
    const end = endOfNumber(text, start);
    this.#at = end;
    if (end - start > MAX_COPIED_LENGTH) {
      const token = text.slice(start, end);
      return isNonCanonical(text, start, end) ? new ExactNumber(copyOf(token)) : Number(token);
    }
    // Equal texts share one object: a message of some MB may repeat `1.0` a million times.
    let hash = 0;
    for (let at = start; at < end; at++) hash = (hash * 31 + text.charCodeAt(at)) | 0;
    const slot = hash & (SLOTS - 1);
    const recent = this.#recent[slot];
    if (
      recent !== undefined &&
      recent.source.length === end - start &&
      text.startsWith(recent.source, start)
    ) {
      return recent.value;
    }
    const source = text.slice(start, end);
    const value = isNonCanonical(text, start, end) ? new ExactNumber(source) : Number(source);
    this.#recent[slot] = { source, value };
    return value;
  }

  /** Skips white space; returns the code of the next character. */
  #next(): number {
    this.#at = skipSpace(this.#text, this.#at);
    return this.#text.charCodeAt(this.#at);
  }
}

const copyOf = (token: string): string => Buffer.from(token, "latin1").toString("latin1");

/** V8 copies slices up to this length; longer ones keep the whole text in memory. */
const MAX_COPIED_LENGTH = 12;
/** A power of two. */
const SLOTS = 256;

const QUOTE = 34;
const COMMA = 44;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const FALSE = 102;
const NULL = 110;
const TRUE = 116;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
