/**
 * How large may the list of a server be? The lists of all servers are merged, compared and written at once where a client
 * needs them, so one server must not fill a turn of the event loop; large lists are counted in steps.
 */
import type { Flaw, MalformedEntry } from "../../core/list-entries.js";
import type { ListKind } from "../../core/lists.js";
import { type Steps, Work } from "../../runtime/cooperative-yield.js";
import { ExactNumber } from "../../wire/json.js";
import { isWide } from "../../wire/parse-in-steps.js";

/** The most entries of one list; names must be unique, which takes longer than URIs. */
const MAX_ENTRIES: Readonly<Record<ListKind, number>> = {
  tools: 10_000,
  prompts: 10_000,
  resources: 20_000,
  resourceTemplates: 20_000,
};
/** The most values (members, elements, texts, numbers) of one entry, and of all entries of a list. */
const MAX_ENTRY_VALUES = 16_384;
const MAX_LIST_VALUES = 600_000;
/** The most characters of all texts and names in a list. */
const MAX_LIST_CHARACTERS = 16 * 1024 * 1024;

/** What a value costs to count and to check, in characters searched. */
const WORK_OF_VALUE = 4;

/** Counts the entries of one list. */
export class ListSize {
  readonly #kind: ListKind;
  readonly #work = new Work();
  #entries = 0;
  #values = 0;
  #characters = 0;

  constructor(kind: ListKind) {
    this.#kind = kind;
  }

  /** Counts an entry. Returns its flaw if it is too large; "full" if the list has no room for it. */
  *add(entry: unknown): Steps<Flaw | "full" | undefined> {
    this.#entries += 1;
    if (this.#entries > MAX_ENTRIES[this.#kind]) return "full";
    const values = yield* this.#valuesOf(entry);
    if (values > MAX_ENTRY_VALUES) return { member: "", reason: `has more than ${MAX_ENTRY_VALUES} values` };
    this.#values += values;
    return this.#values > MAX_LIST_VALUES || this.#characters > MAX_LIST_CHARACTERS ? "full" : undefined;
  }

  /** The report of what is not listed. */
  get excess(): MalformedEntry {
    const limits = `${MAX_ENTRIES[this.#kind]} entries, ${MAX_LIST_VALUES} values or 16 MiB of text`;
    return {
      list: this.#kind,
      member: this.#kind,
      reason: `has more than ${limits}; what comes after is not listed`,
    };
  }

  *#valuesOf(entry: unknown): Steps<number> {
    const open: unknown[] = [entry];
    let values = 0;
    while (open.length > 0 && values + open.length <= MAX_ENTRY_VALUES) {
      const value = open.pop();
      values += 1;
      if (typeof value === "string") this.#characters += value.length;
      else if (Array.isArray(value)) open.push(...value.slice(0, MAX_ENTRY_VALUES + 1));
      else if (typeof value === "object" && value !== null && !(value instanceof ExactNumber)) {
        if (isWide(value)) return MAX_ENTRY_VALUES + 1;
        this.#openObject(value, open);
      }
      if (this.#work.mustYield(WORK_OF_VALUE)) yield;
    }
    return values + open.length;
  }

  #openObject(object: object, open: unknown[]): void {
    for (const name in object) {
      this.#characters += name.length;
      open.push((object as Readonly<Record<string, unknown>>)[name]);
      if (open.length > MAX_ENTRY_VALUES) return;
    }
  }
}
