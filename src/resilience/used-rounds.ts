/** Which rounds of calls were used in this process? Bounded in number, and eviction makes no round usable again. */
import { randomUUID } from "node:crypto";
import type { Principal } from "../core/client.js";
import { principalKey } from "../core/principal.js";
import { boundedKey } from "../runtime/cache-limits.js";

/** Rounds in memory; an id has 45 characters. */
const MAX_ROUNDS = 10_000;
/** Radix of the time in an id. */
const RADIX = 36;

/** The id of a new round: the time when it was made (`now`, ms of the epoch) and a random part. */
export const newRoundId = (now: number): string => `${now.toString(RADIX)}.${randomUUID()}`;

/** The rounds of one principal. */
interface PrincipalRounds {
  readonly ids: Set<string>;
  /** Rounds made at this time (ms) or before count as used: some of them were evicted. */
  floor: number;
}

/**
 * The rounds that were used, by principal. Above the limit the principal with the most of them loses its oldest one. All
 * its rounds that were made no later count as used from then on, so that eviction never makes a round usable again.
 */
export class UsedRounds {
  readonly #byPrincipal = new Map<string, PrincipalRounds>();
  readonly #maxRounds: number;
  /** The floor of principals that are not in the map. */
  #floor = -1;
  #count = 0;

  /** @param maxRounds default 10,000 */
  constructor(maxRounds = MAX_ROUNDS) {
    this.#maxRounds = maxRounds;
  }

  /** Uses up a round of the principal; false where it was used before. `id` is one of `newRoundId`. */
  use(principal: Pick<Principal, "id" | "key">, id: string): boolean {
    const key = boundedKey(principalKey(principal));
    const rounds = this.#byPrincipal.get(key) ?? { ids: new Set<string>(), floor: this.#floor };
    if (rounds.ids.has(id) || madeAt(id) <= rounds.floor) return false;
    this.#byPrincipal.set(key, rounds);
    rounds.ids.add(id);
    this.#count += 1;
    if (this.#count > this.#maxRounds) this.#evict();
    return true;
  }

  /** The call was refused before it reached its server: the round can be used again. */
  giveBack(principal: Pick<Principal, "id" | "key">, id: string): void {
    if (this.#byPrincipal.get(boundedKey(principalKey(principal)))?.ids.delete(id) === true) this.#count -= 1;
  }

  #evict(): void {
    let most: readonly [string, PrincipalRounds] | undefined;
    for (const entry of this.#byPrincipal)
      if (most === undefined || entry[1].ids.size > most[1].ids.size) most = entry;
    if (most === undefined) return;
    const [key, rounds] = most;
    for (const oldest of rounds.ids) {
      rounds.ids.delete(oldest);
      rounds.floor = Math.max(rounds.floor, madeAt(oldest));
      this.#count -= 1;
      break;
    }
    if (rounds.ids.size > 0) return;
    this.#byPrincipal.delete(key);
    this.#floor = Math.max(this.#floor, rounds.floor);
  }
}

/** When the round was made, in ms of the epoch. */
const madeAt = (id: string): number => Number.parseInt(id, RADIX);
