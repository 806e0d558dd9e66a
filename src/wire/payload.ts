/**
 * A JSON object that is carried rather than looked at: kept as the text it came as, or as the object it was
 * made as, and turned into the other only when somebody asks.
 */
import { isObject, type JsonObject } from "./json.js";

export class Payload {
  #text: string | Buffer | undefined;
  #object: JsonObject | undefined;
  /** What `escapesIn` found in the text, once somebody has searched it. */
  #escapes: string | undefined;
  /** Answers of earlier searches, kept where a search takes longer than looking it up. */
  #found: Map<string, boolean> | undefined;

  private constructor(text: string | Buffer | undefined, object: JsonObject | undefined) {
    this.#text = text;
    this.#object = object;
  }

  /** `text` must be the whole text of one JSON object, without white space around it; nobody checks it again. */
  static ofText(text: string | Buffer): Payload {
    return new Payload(text, undefined);
  }

  static ofObject(object: JsonObject): Payload {
    return new Payload(undefined, object);
  }

  /** The JSON text, as it came where it came as text. */
  get text(): string | Buffer {
    this.#text ??= JSON.stringify(this.#object);
    return this.#text;
  }

  /** The parsed object; whoever asks pays for the parsing, once. */
  get object(): JsonObject {
    if (this.#object === undefined) {
      const value: unknown = JSON.parse(String(this.#text));
      if (!isObject(value)) throw new TypeError("a payload must be a JSON object");
      this.#object = value;
    }
    return this.#object;
  }

  /**
   * Whether `marker` (a piece of JSON text, such as `"isError"`) may stand in it: false is certain, true is
   * not. Where only the object is there the answer is true, because looking is then as cheap as searching.
   */
  mayContain(marker: string): boolean {
    const text = this.#text;
    if (text === undefined) return true;
    this.#escapes ??= escapesIn(text);
    if (this.#escapes !== "" && sharesCharacter(this.#escapes, marker)) return true;
    if (text.length < LONG) return text.includes(marker);
    this.#found ??= new Map();
    const known = this.#found.get(marker);
    if (known !== undefined) return known;
    const found = text.includes(marker);
    this.#found.set(marker, found);
    return found;
  }
}

/** From this length on several layers that look for the same marker are worth a Map. */
const LONG = 8192;

/** The ASCII characters that stand in the text as escapes, where a search for them finds nothing. */
function escapesIn(text: string | Buffer): string {
  let found = "";
  for (let at = text.indexOf(ESCAPE); at !== -1; at = text.indexOf(ESCAPE, at + ESCAPE.length)) {
    const digits = text.slice(at + ESCAPE.length, at + ESCAPE.length + 2).toString();
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    if (character < "\u0080" && !found.includes(character)) found += character;
  }
  return found;
}

function sharesCharacter(characters: string, marker: string): boolean {
  for (const character of characters) if (marker.includes(character)) return true;
  return false;
}

/** How JSON writes a character of ASCII that it need not escape. */
const ESCAPE = "\\u00";
