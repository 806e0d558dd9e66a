/** Takes values out of JSON where they stand exactly as they are, in texts and in names of members. */
import { isNonSecretValue } from "../../telemetry/secrets.js";
import { ExactNumber, isObject, type JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { Payload } from "../../wire/payload.js";
import { LiteralSearch } from "./literal-search.js";

/** A shorter value may stand in any text by chance. In characters. */
const MIN_LENGTH = 8;
const REPLACEMENT = "[redacted]";

/** Values to take out. */
export class SecretValues {
  /** The longest first: one may be a part of another. */
  readonly #values: readonly string[];
  readonly #inTexts: LiteralSearch | undefined;
  /** As they stand in JSON texts. */
  readonly #inJson: LiteralSearch | undefined;
  /** The same, in the bytes of texts as Latin-1. */
  readonly #inBytes: LiteralSearch | undefined;

  /** Of `values` those that are long enough, and plainly no words, paths or addresses. */
  constructor(values: Iterable<string>) {
    const wanted = [...new Set(values)].filter(
      (value) => value.length >= MIN_LENGTH && !isNonSecretValue(value),
    );
    this.#values = wanted.sort((one, other) => other.length - one.length);
    if (wanted.length === 0) return;
    const written = wanted.map((value) => writeJson(value).slice(1, -1));
    this.#inTexts = new LiteralSearch(wanted);
    this.#inJson = new LiteralSearch(written);
    this.#inBytes = new LiteralSearch(written.map((text) => Buffer.from(text).toString("latin1")));
  }

  get isEmpty(): boolean {
    return this.#values.length === 0;
  }

  /** Whether one may stand in the payload; false is certain. A text is searched without being parsed. */
  mayBeIn(payload: Payload): boolean {
    const { knownMembers } = payload;
    if (knownMembers === undefined) return !this.isEmpty;
    const isText = typeof knownMembers === "string";
    const text = isText ? knownMembers : knownMembers.toString("latin1");
    const search = isText ? this.#inJson : this.#inBytes;
    return search !== undefined && (search.indexIn(text) !== -1 || this.#mayBeEscaped(text));
  }

  /** Whether the text writes a character as an escape that one of the values has and writers need not escape. */
  #mayBeEscaped(text: string): boolean {
    for (let at = text.indexOf("\\"); at !== -1; at = text.indexOf("\\", at + 2)) {
      const next = text[at + 1];
      if (next !== "/" && next !== "u") continue;
      const character = next === "/" ? "/" : characterOf(text.slice(at + 2, at + 6));
      if (this.#values.some((value) => value.includes(character))) return true;
    }
    return false;
  }

  /** The text without them. */
  text(text: string): string {
    if (this.#inTexts === undefined || this.#inTexts.indexIn(text) === -1) return text;
    return this.#values.reduce((clean, value) => clean.replaceAll(value, () => REPLACEMENT), text);
  }

  /** A copy without them; the very same value where they stand nowhere in it. */
  json<Value>(value: Value): Value {
    return this.#inTexts === undefined ? value : (this.#json(value) as Value);
  }

  #json(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return this.#array(value);
    return isObject(value) && !(value instanceof ExactNumber) ? this.#object(value) : value;
  }

  #array(array: readonly unknown[]): readonly unknown[] {
    const copy = array.map((item) => this.#json(item));
    return copy.every((item, at) => item === array[at]) ? array : copy;
  }

  #object(object: JsonObject): JsonObject {
    let isSame = true;
    const entries = Object.entries(object).map(([key, value]) => {
      const entry = [this.text(key), this.#json(value)] as const;
      if (entry[0] !== key || entry[1] !== value) isSame = false;
      return entry;
    });
    return isSame ? object : Object.fromEntries(entries);
  }
}

const characterOf = (digits: string): string => String.fromCharCode(Number.parseInt(digits, 16));
