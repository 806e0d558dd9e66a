/**
 * The requests of one session that are in flight, by their ids. Most hosts have one at a time, and a Map that is filled
 * and emptied with every call leaves its old tables in the old generation.
 */
import type { Stop } from "../../core/stop.js";
import { type IdKey, idKeyOf, type MessageId } from "../../wire/message-id.js";

export interface InFlightCall {
  readonly id: MessageId;
  readonly controller: Stop;
  readonly onEnd: (why: "cancelled" | "ended") => void;
}

export class CallsInFlight {
  #first: InFlightCall | undefined;
  /** Those that came while there was another. */
  #others: Map<IdKey, InFlightCall> | undefined;

  get size(): number {
    return (this.#first === undefined ? 0 : 1) + (this.#others?.size ?? 0);
  }

  get(id: MessageId): InFlightCall | undefined {
    return this.#isFirst(id) ? this.#first : this.#others?.get(idKeyOf(id));
  }

  /** `call` must have an id that no other has. */
  add(call: InFlightCall): void {
    if (this.#first === undefined) {
      this.#first = call;
      return;
    }
    this.#others ??= new Map();
    this.#others.set(idKeyOf(call.id), call);
  }

  delete(id: MessageId): void {
    if (this.#isFirst(id)) this.#first = undefined;
    else this.#others?.delete(idKeyOf(id));
  }

  all(): readonly InFlightCall[] {
    const others = [...(this.#others?.values() ?? [])];
    return this.#first === undefined ? others : [this.#first, ...others];
  }

  #isFirst(id: MessageId): boolean {
    return this.#first !== undefined && idKeyOf(this.#first.id) === idKeyOf(id);
  }
}
