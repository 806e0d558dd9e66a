/** Reads JSON like JSON.parse, but keeps the text of each number that JavaScript would write in another way. */
import { ExactNumber } from "./exact-number.js";
import { endOfNumber, isOdd } from "./odd-numbers.js";
import { endOfString, skipSpace } from "./result-span.js";

/**
 * The value of `text`, which JSON.parse must have taken before: nothing is checked again. It recurses, so bound the depth
 * before.
 */
export function parseExact(text: string): unknown {
  return new ExactReader(text).value();
}

class ExactReader {
  readonly #text: string;
  /** Where the next value, key or separator begins, or white space before it. */
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
        // An assignment to that name would do something else.
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
    // A longer piece would keep the whole text in memory.
    if (plain.length <= COPIED && !plain.includes("\\")) return plain;
    return JSON.parse(this.#text.slice(start, this.#at));
  }

  #number(): number | ExactNumber {
    const start = this.#at;
    this.#at = endOfNumber(this.#text, start);
    const token = this.#text.slice(start, this.#at);
    if (!isOdd(this.#text, start, this.#at)) return Number(token);
    return new ExactNumber(token.length <= COPIED ? token : copyOf(token));
  }

  /** The code of the next character that is no white space; `#at` is where it stands. */
  #next(): number {
    this.#at = skipSpace(this.#text, this.#at);
    return this.#text.charCodeAt(this.#at);
  }
}

const copyOf = (token: string): string => Buffer.from(token, "latin1").toString("latin1");

/** Pieces of a text up to this length are copies of their own in V8. */
const COPIED = 12;

const QUOTE = 34;
const COMMA = 44;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const FALSE = 102;
const NULL = 110;
const TRUE = 116;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;
