/** Which persons were refused at a server because they are not signed in there? */
import { LRUCache } from "lru-cache";

/** Persons that are kept for a server; beyond, the one who was refused longest ago is forgotten. */
const MAX_PERSONS = 100;
/** A person who was not refused within this time (ms) no longer wants the server. */
const FORGET_MS = 24 * 60 * 60 * 1_000;
/** Servers; the keys of a config, and of those before it. */
const MAX_SERVERS = 1_000;

/** A person who needs a sign-in at a server. */
export interface SignInNeed {
  /** The id of the principal. */
  readonly principal: string;
  /** When the first call was refused, in ms since 1970. */
  readonly since: number;
  /** How many calls were refused. */
  readonly count: number;
}

/** The needs of the persons of one gateway. */
export class SignInNeeds {
  readonly #now: () => number;
  readonly #servers = new LRUCache<string, LRUCache<string, SignInNeed & { readonly lastAt: number }>>({
    max: MAX_SERVERS,
  });

  /** `now`: ms since 1970. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A call of the person was refused without a sign-in. */
  refused(server: string, principal: string): void {
    let persons = this.#servers.get(server);
    if (persons === undefined) {
      persons = new LRUCache({ max: MAX_PERSONS });
      this.#servers.set(server, persons);
    }
    const lastAt = this.#now();
    const { since = lastAt, count = 0 } = persons.get(principal) ?? {};
    persons.set(principal, { principal, since, count: count + 1, lastAt });
  }

  /** A call of the person succeeded, or the sign-in has changed. */
  ended(server: string, principal: string): void {
    this.#servers.peek(server)?.delete(principal);
  }

  /** The persons who need one at `server`, the longest waiting first. */
  of(server: string): readonly SignInNeed[] {
    const from = this.#now() - FORGET_MS;
    return [...(this.#servers.peek(server)?.values() ?? [])]
      .filter(({ lastAt }) => lastAt > from)
      .map(({ lastAt: _, ...need }) => need)
      .sort((a, b) => a.since - b.since);
  }
}
