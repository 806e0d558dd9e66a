/**
 * A JSON object that is carried rather than looked at: kept as the text it came as, or as the object it was
 * made as, and turned into the other only when somebody asks.
 */
import { type Envelope, RESULT_TEXT } from "./envelope.js";
import { isObject, type JsonObject, without } from "./json.js";
import { parseJson, writeJson } from "./json-text.js";

export class Payload {
  /** Everything after the opening brace, so that members can be put before it without touching it. */
  #members: string | Buffer | undefined;
  #object: JsonObject | undefined;
  /** A member that the text has lost and the object still has; it goes when somebody asks for the object. */
  #removedKey: string | undefined;
  /** What was searched for in a long text, and whether it may be there: lists are searched for every answer. */
  #markers: Map<string, boolean> | undefined;

  private constructor(members: string | Buffer | undefined, object: JsonObject | undefined) {
    this.#members = members;
    this.#object = object;
  }

  /** `text` must be the whole text of one JSON object, without white space around it; nobody checks it again. */
  static ofText(text: string | Buffer): Payload {
    return new Payload(sliceFrom(text, 1), undefined);
  }

  /** The result of a response: the parsed object, and the text it came as where that is known. */
  static ofResponse(response: Envelope): Payload {
    const text = response[RESULT_TEXT];
    return new Payload(text === undefined ? undefined : sliceFrom(text, 1), response.result ?? {});
  }

  static ofObject(object: JsonObject): Payload {
    return new Payload(undefined, object);
  }

  /** The JSON text without its opening brace, as it came where it came as text. */
  get members(): string | Buffer {
    this.#members ??= writeJson(this.#object).slice(1);
    return this.#members;
  }

  /** The whole JSON text. Bytes are copied for it. */
  get text(): string | Buffer {
    const { members } = this;
    return typeof members === "string" ? `{${members}` : Buffer.concat([BRACE, members]);
  }

  /** The parsed object; whoever asks pays for the parsing, once. */
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

  /** The object where it is there for nothing; undefined where the text would have to be parsed. */
  get parsed(): JsonObject | undefined {
    return this.#object === undefined ? undefined : this.object;
  }

  /**
   * Whether `marker` (a piece of JSON text, such as `"isError"`) may stand in it: false is certain, true is
   * not. Where only the object is there the answer is true, because looking is then as cheap as searching.
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

  /** Whether `key` may be one of its own members; false is certain, and so is true where it is parsed. */
  mayHave(key: string): boolean {
    if (this.#object === undefined) return this.mayContain(`"${key}"`);
    return key !== this.#removedKey && Object.hasOwn(this.#object, key);
  }

  /**
   * The same without its first member, if that is this one as serializers write it; else undefined, as where nobody has
   * parsed it. Cutting text is much cheaper than writing it anew. Should another member have that
   * name too, it stays, and the last of them, which is the one that counts, says the same.
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

/** A member of an object, and how serializers write it where another one follows. */
export interface Member {
  readonly key: string;
  readonly value: string;
  readonly text: string;
}

/** How most results of modern servers begin. */
export const RESULT_TYPE_COMPLETE: Member = {
  key: "resultType",
  value: "complete",
  text: '"resultType":"complete",',
};

/** Searching so many characters costs more than remembering what was found. */
const LONG_TEXT = 4096;
const BRACE = Buffer.from("{");

const sliceFrom = (text: string | Buffer, at: number): string | Buffer =>
  typeof text === "string" ? text.slice(at) : text.subarray(at);
const prefixOf = (text: string | Buffer, length: number): string =>
  typeof text === "string" ? text.slice(0, length) : text.toString("latin1", 0, length);
const contains = (text: string | Buffer, marker: string): boolean =>
  text.includes(marker) || mayHideInEscape(text, marker);

/** Whether a character of `marker` stands in `text` as an escape, where a search for it finds nothing. */
function mayHideInEscape(text: string | Buffer, marker: string): boolean {
  for (let at = text.indexOf(ESCAPE); at !== -1; at = text.indexOf(ESCAPE, at + ESCAPE.length)) {
    const digits = text.slice(at + ESCAPE.length, at + ESCAPE.length + 2).toString();
    if (marker.includes(String.fromCharCode(Number.parseInt(digits, 16)))) return true;
  }
  return false;
}

/** How JSON writes a character of ASCII that it need not escape. */
const ESCAPE = "\\u00";
