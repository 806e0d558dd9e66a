/**
 * How are results passed through without parsing and serializing them? A payload keeps the text it was received as, or
 * the object it was created from, and converts lazily.
 */
import { type Envelope, RESULT_TEXT } from "./envelope.js";
import { isObject, type JsonObject, without } from "./json.js";
import { parseJson, writeJson } from "./json-text.js";

/** A JSON object, as text or parsed. */
export class Payload {
  /** The text after the opening brace, so that members can be prepended without copying it. */
  #members: string | Buffer | undefined;
  #object: JsonObject | undefined;
  /** A member cut from the text and not yet removed from the object. */
  #removedKey: string | undefined;
  /** Cached results of `mayContain` for a long text: cached lists are searched for every reply. */
  #markers: Map<string, boolean> | undefined;

  private constructor(members: string | Buffer | undefined, object: JsonObject | undefined) {
    this.#members = members;
    this.#object = object;
  }

  /** `text` must be the text of one JSON object without surrounding white space; it is not checked. */
  static ofText(text: string | Buffer): Payload {
    return new Payload(sliceFrom(text, 1), undefined);
  }

  /** The result of a response: the parsed object, and its received text where that is known. */
  static ofResponse(response: Envelope): Payload {
    const text = response[RESULT_TEXT];
    return new Payload(text === undefined ? undefined : sliceFrom(text, 1), response.result ?? {});
  }

  static ofObject(object: JsonObject): Payload {
    return new Payload(undefined, object);
  }

  /** The JSON text without its opening brace; as received, where it was received as text. */
  get members(): string | Buffer {
    this.#members ??= writeJson(this.#object).slice(1);
    return this.#members;
  }

  /** The same where there is a text already, else undefined. */
  get knownMembers(): string | Buffer | undefined {
    return this.#members;
  }

  /** The whole JSON text. Copies a buffer. */
  get text(): string | Buffer {
    const { members } = this;
    return typeof members === "string" ? `{${members}` : Buffer.concat([BRACE, members]);
  }

  /** The parsed object; parses the text on first use. @throws TypeError if it is no object */
  get object(): JsonObject {
    if (this.#object === undefined) {
      const value: unknown = parseJson(String(this.text));
      if (!isObject(value)) throw new TypeError("a payload must be a JSON object");
      this.#object = value;
    }
    if (this.#removedKey !== undefined) {
      this.#object = without(this.#object, [this.#removedKey]);
      this.#removedKey = undefined;
    }
    return this.#object;
  }

  /** The object where it is parsed already, else undefined. */
  get parsed(): JsonObject | undefined {
    return this.#object === undefined ? undefined : this.object;
  }

  /**
   * Whether the text may contain `marker`, a piece of JSON text such as `"isError"`: false is certain. True without a
   * text, because reading the object is then as cheap.
   */
  mayContain(marker: string): boolean {
    const text = this.#members;
    if (text === undefined) return true;
    if (text.length < LONG_TEXT) return contains(text, marker);
    this.#markers ??= new Map();
    let found = this.#markers.get(marker);
    if (found === undefined) {
      found = contains(text, marker);
      this.#markers.set(marker, found);
    }
    return found;
  }

  /** Whether it may have the member `key`: false is certain, true only where it is parsed. */
  mayHave(key: string): boolean {
    if (this.#object === undefined) return this.mayContain(`"${key}"`);
    return key !== this.#removedKey && Object.hasOwn(this.#object, key);
  }

  /**
   * A copy without its first member, if that is exactly the text of this one and the object is parsed; else undefined.
   * Slicing is much cheaper than serializing. A later duplicate of the member has the same value and stays.
   */
  withoutFirst({ key, value, text: member }: Member): Payload | undefined {
    const text = this.#members;
    const object = this.#object;
    if (text === undefined || object?.[key] !== value || this.#removedKey !== undefined) return undefined;
    if (prefixOf(text, member.length) !== member) return undefined;
    const shorter = new Payload(sliceFrom(text, member.length), object);
    shorter.#removedKey = key;
    return shorter;
  }
}

/** A member of an object, and its text as serializers write it before another one. */
export interface Member {
  readonly key: string;
  readonly value: string;
  readonly text: string;
}

/** The first member of most results since 2026-07-28. */
export const RESULT_TYPE_COMPLETE: Member = {
  key: "resultType",
  value: "complete",
  text: '"resultType":"complete",',
};

/** From this length (characters) on the result of a search is cached. */
const LONG_TEXT = 4096;
const BRACE = Buffer.from("{");

const sliceFrom = (text: string | Buffer, at: number): string | Buffer =>
  typeof text === "string" ? text.slice(at) : text.subarray(at);
const prefixOf = (text: string | Buffer, length: number): string =>
  typeof text === "string" ? text.slice(0, length) : text.toString("latin1", 0, length);
const contains = (text: string | Buffer, marker: string): boolean =>
  text.includes(marker) || mayHideInEscape(text, marker);

/** Whether a character of `marker` may be escaped in `text`, where a plain search misses it. */
function mayHideInEscape(text: string | Buffer, marker: string): boolean {
  for (let at = text.indexOf(ESCAPE); at !== -1; at = text.indexOf(ESCAPE, at + ESCAPE.length)) {
    const digits = text.slice(at + ESCAPE.length, at + ESCAPE.length + 2).toString();
    if (marker.includes(String.fromCharCode(Number.parseInt(digits, 16)))) return true;
  }
  return false;
}

/** The beginning of a Unicode escape of an ASCII character. */
const ESCAPE = "\\u00";
