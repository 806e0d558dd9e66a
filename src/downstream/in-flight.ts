/** The requests of one client that are in flight, by their ids, and how many there may be. */
import { GatewayError } from "../core/errors.js";
import { type IdKey, idKeyOf, type MessageId } from "../wire/envelope.js";
import { writeJson } from "../wire/json-text.js";

/** Requests of one session or one pipe that may be in flight at once, subscriptions among them. */
const MAX_IN_FLIGHT = 1000;

/**
 * Most clients have one request in flight at a time, which is kept outside the Map: a Map that is filled and emptied with
 * every call leaves its old tables, and the calls that they point to, in the old generation (bench/profiles.md).
 */
export class InFlight<Entry extends { readonly id: MessageId }> {
  #first: Entry | undefined;
  /** The entries that were added while there was a first. */
  #others: Map<IdKey, Entry> | undefined;

  get size(): number {
    return (this.#first === undefined ? 0 : 1) + (this.#others?.size ?? 0);
  }

  get isFull(): boolean {
    return this.size >= MAX_IN_FLIGHT;
  }

  get(id: MessageId): Entry | undefined {
    return this.#isFirst(id) ? this.#first : this.#others?.get(idKeyOf(id));
  }

  /** `entry` must have an id that no other entry has. */
  add(entry: Entry): void {
    if (this.#first === undefined) {
      this.#first = entry;
      return;
    }
    this.#others ??= new Map();
    this.#others.set(idKeyOf(entry.id), entry);
  }

  delete(id: MessageId): void {
    if (this.#isFirst(id)) this.#first = undefined;
    else this.#others?.delete(idKeyOf(id));
  }

  all(): readonly Entry[] {
    const others = [...(this.#others?.values() ?? [])];
    return this.#first === undefined ? others : [this.#first, ...others];
  }

  #isFirst(id: MessageId): boolean {
    return this.#first !== undefined && idKeyOf(this.#first.id) === idKeyOf(id);
  }
}

/** Answered with the id null: an error under the id would be taken for the response to the request in flight. */
export const duplicateId = (id: MessageId): GatewayError =>
  new GatewayError(
    "bad_request",
    "downstream",
    `a request with the id ${writeJson(id)} is in flight already`,
  );

/** @param owner what the limit applies to */
export const tooManyInFlight = (owner: "session" | "pipe"): GatewayError =>
  new GatewayError("overloaded", "downstream", `this ${owner} has ${MAX_IN_FLIGHT} requests in flight`, {
    retryable: true,
  });
