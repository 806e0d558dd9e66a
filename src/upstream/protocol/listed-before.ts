/** Which entries of a list are listed again? Those stay the same objects, so what is kept of them holds still. */
import { LISTS, type ListKind } from "../../core/lists.js";
import { isObject, isSameText, type JsonObject, stringAt } from "../../wire/json.js";

/** The entries of the list before, while the next one is read. */
export class ListedBefore {
  readonly #key: string;
  readonly #entries: readonly JsonObject[];
  /** The place after the last one that was found: servers mostly keep the order of their entries. */
  #next = 0;
  #byName: Map<string, number> | undefined;

  constructor(kind: ListKind, entries: readonly JsonObject[]) {
    this.#key = LISTS[kind].key;
    this.#entries = entries;
  }

  /** The entry that has the same text as `item`; undefined if there is none. */
  find(item: unknown): JsonObject | undefined {
    const name = isObject(item) && this.#entries.length > 0 ? stringAt(item, this.#key) : undefined;
    if (name === undefined) return undefined;
    const place = this.#placeOf(name);
    const entry = place === undefined ? undefined : this.#entries[place];
    if (place !== undefined) this.#next = place + 1;
    return isSameText(entry, item) ? entry : undefined;
  }

  #placeOf(name: string): number | undefined {
    const next = this.#entries[this.#next];
    if (next !== undefined && stringAt(next, this.#key) === name) return this.#next;
    this.#byName ??= new Map(this.#entries.map((entry, at) => [stringAt(entry, this.#key) ?? "", at]));
    return this.#byName.get(name);
  }
}
