/** Takes values out of JSON where they stand in one of their forms, in texts and in names of members. */
import { type Steps, Work } from "../../runtime/cooperative-yield.js";
import { isNonSecretValue } from "../../telemetry/secrets.js";
import { ExactNumber, isObject, type JsonObject } from "../../wire/json.js";
import { writeJson } from "../../wire/json-text.js";
import type { Payload } from "../../wire/payload.js";
import { formsOf } from "./forms.js";
import { LiteralSearch, type Match } from "./literal-search.js";

/** A shorter value may stand in any text by chance. In characters. */
const MIN_LENGTH = 8;
const REPLACEMENT = "[redacted]";
/** Characters that are searched in one step: about 1 ms. */
const STEP = 262_144;
/** A search costs this part of one of the `Work` of a step. */
const COST = 1 / 8;

/** Values to take out, each with the servers that are given it. */
export class SecretValues {
  /** Keyed by value, with its forms. */
  readonly #values = new Map<string, { readonly owners: string[]; readonly forms: readonly string[] }>();
  /** The owners of the values that have a form. A form whose values are gone has none. */
  readonly #owners = new Map<string, string[]>();
  #searches = newSearches();
  #revision = 0;

  /** Grows when a value comes or goes. */
  get revision(): number {
    return this.#revision;
  }

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  /** Adds a value that `owner` is given, if it is long enough, and plainly no word, path or address. */
  add(value: string, owner: string): void {
    if (value.length < MIN_LENGTH) return;
    const known = this.#values.get(value);
    if (known === undefined && isNonSecretValue(value)) return;
    this.#revision += 1;
    const { owners, forms } = known ?? { owners: [], forms: formsOf(value) };
    this.#values.set(value, { owners: [...owners, owner], forms });
    for (const form of forms) {
      const before = this.#owners.get(form);
      if (before === undefined) this.#searches.add(form);
      this.#owners.set(form, [...(before ?? []), owner]);
    }
  }

  /** Takes back what `add` has added once. */
  delete(value: string, owner: string): void {
    const known = this.#values.get(value);
    if (known === undefined || !known.owners.includes(owner)) return;
    this.#revision += 1;
    const owners = withoutOne(known.owners, owner);
    if (owners.length === 0) this.#values.delete(value);
    else this.#values.set(value, { ...known, owners });
    for (const form of known.forms) this.#owners.set(form, withoutOne(this.#owners.get(form) ?? [], owner));
    if (this.#owners.size > MIN_REBUILT && this.#owners.size > 16 * this.#values.size) this.#rebuild();
  }

  /** Whether one may stand in the payload; false is certain. A text is searched without being parsed. */
  *mayBeIn({ knownMembers }: Payload, work: Work): Steps<boolean> {
    if (this.isEmpty) return false;
    if (knownMembers === undefined) return true;
    const isText = typeof knownMembers === "string";
    const text = isText ? knownMembers : knownMembers.toString("latin1");
    const { inJson, inBytes } = this.#searches;
    const match = yield* this.#next(isText ? inJson : inBytes, text, 0, () => true, work);
    return match !== undefined || this.#mayBeEscaped(text);
  }

  /** Whether the text writes a character as an escape that one of the values has and writers need not escape. */
  #mayBeEscaped(text: string): boolean {
    const { characters } = this.#searches;
    for (let at = text.indexOf("\\"); at !== -1; at = text.indexOf("\\", at + 2)) {
      const next = text[at + 1];
      if (next !== "/" && next !== "u") continue;
      if (characters.has(next === "/" ? "/" : characterOf(text.slice(at + 2, at + 6)))) return true;
    }
    return false;
  }

  /** The text without them. @param receiver a server that may have those that it is given itself; undefined: a host */
  text(text: string, receiver?: string): string {
    const { inTexts } = this.#searches;
    const isWanted = (form: string): boolean => this.#isSecretFrom(form, receiver);
    return inTexts.find(text, inTexts.first, text.length, isWanted) === undefined
      ? text
      : atOnce(this.#longText(text, receiver, new Work()));
  }

  /** A copy without them; the very same value where they stand nowhere in it. `receiver`: as in `text`. */
  json<Value>(value: Value, receiver?: string): Value {
    return atOnce(this.jsonInSteps(value, receiver, new Work()));
  }

  /** The same, in steps. */
  *jsonInSteps<Value>(value: Value, receiver: string | undefined, work: Work): Steps<Value> {
    return this.isEmpty ? value : ((yield* this.#json(value, receiver, work)) as Value);
  }

  *#longText(text: string, receiver: string | undefined, work: Work): Steps<string> {
    const { inTexts } = this.#searches;
    const isWanted = (form: string): boolean => this.#isSecretFrom(form, receiver);
    const places: Match[] = [];
    for (let end = 0; ; ) {
      const match: Match | undefined = yield* this.#next(inTexts, text, end, isWanted, work);
      if (match === undefined) break;
      end = match.end + 1;
      let { start } = match;
      // One value may be a part of another, or begin in it.
      for (let last = places.at(-1); last !== undefined && last.end > match.start; last = places.at(-1)) {
        start = Math.min(start, last.start);
        places.pop();
      }
      places.push({ start, end: match.end });
    }
    if (places.length === 0) return text;
    const parts = places.map(({ start }, at) => text.slice(places[at - 1]?.end ?? 0, start));
    return [...parts, text.slice(places.at(-1)?.end)].join(REPLACEMENT);
  }

  *#next(
    search: LiteralSearch,
    text: string,
    end: number,
    isWanted: (form: string) => boolean,
    work: Work,
  ): Steps<Match | undefined> {
    for (let from = Math.max(end, search.first); from <= text.length; from += STEP) {
      const to = Math.min(from + STEP - 1, text.length);
      const match = search.find(text, from, to, isWanted);
      if (match !== undefined) return match;
      yield* work.spend((to - from) * COST);
    }
    return undefined;
  }

  #isSecretFrom(form: string, receiver: string | undefined): boolean {
    const owners = this.#owners.get(form) ?? [];
    return owners.length > 0 && (receiver === undefined || !owners.includes(receiver));
  }

  *#json(value: unknown, receiver: string | undefined, work: Work): Steps<unknown> {
    if (typeof value === "string")
      return value.length <= STEP ? this.text(value, receiver) : yield* this.#longText(value, receiver, work);
    if (Array.isArray(value)) return yield* this.#array(value, receiver, work);
    return isObject(value) && !(value instanceof ExactNumber)
      ? yield* this.#object(value, receiver, work)
      : value;
  }

  *#array(array: readonly unknown[], receiver: string | undefined, work: Work): Steps<readonly unknown[]> {
    const copy: unknown[] = [];
    for (const item of array) {
      copy.push(yield* this.#json(item, receiver, work));
      if (typeof item === "string") yield* work.spend(item.length * COST);
    }
    yield* work.spend(array.length);
    return copy.every((item, at) => item === array[at]) ? array : copy;
  }

  *#object(object: JsonObject, receiver: string | undefined, work: Work): Steps<JsonObject> {
    let isSame = true;
    const entries: (readonly [string, unknown])[] = [];
    for (const [key, value] of Object.entries(object)) {
      const entry = [this.text(key, receiver), yield* this.#json(value, receiver, work)] as const;
      if (typeof value === "string") yield* work.spend(value.length * COST);
      if (entry[0] !== key || entry[1] !== value) isSame = false;
      entries.push(entry);
    }
    yield* work.spend(entries.length);
    return isSame ? object : Object.fromEntries(entries);
  }

  /** Forgets the forms of values that are gone. */
  #rebuild(): void {
    const values = [...this.#values];
    this.#values.clear();
    this.#owners.clear();
    this.#searches = newSearches();
    for (const [value, { owners }] of values) for (const owner of owners) this.add(value, owner);
  }
}

/** A smaller number of forms is not worth a rebuild. */
const MIN_REBUILT = 1_000;

/** The same forms, as they stand in different texts. */
interface Searches {
  readonly inTexts: LiteralSearch;
  /** As they stand in JSON texts. */
  readonly inJson: LiteralSearch;
  /** The same, in the bytes of texts as Latin-1. */
  readonly inBytes: LiteralSearch;
  /** Those of all forms. */
  readonly characters: Set<string>;
  add(form: string): void;
}

function newSearches(): Searches {
  const [inTexts, inJson, inBytes] = [1, 2, 3].map(() => new LiteralSearch(MIN_LENGTH)) as [
    LiteralSearch,
    LiteralSearch,
    LiteralSearch,
  ];
  const characters = new Set<string>();
  return {
    ...{ inTexts, inJson, inBytes, characters },
    add(form) {
      const written = writeJson(form).slice(1, -1);
      inTexts.add(form);
      inJson.add(written);
      inBytes.add(Buffer.from(written).toString("latin1"));
      for (const character of form) for (const unit of character.split("")) characters.add(unit);
    },
  };
}

function withoutOne(owners: readonly string[], owner: string): string[] {
  const at = owners.indexOf(owner);
  return at === -1 ? [...owners] : owners.toSpliced(at, 1);
}

/** Runs all steps of short work. */
function atOnce<Value>(steps: Steps<Value>): Value {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

const characterOf = (digits: string): string => String.fromCharCode(Number.parseInt(digits, 16));
