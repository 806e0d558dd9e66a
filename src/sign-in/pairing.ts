/** A code that a person carries from the browser into a session of the principal: so the two are the same person. */
import { LRUCache } from "lru-cache";
import { type Finished, keepAndTell, noteEnd } from "./authorizations.js";
import { readPairingCode } from "./pairing-code.js";
import type { SignInContext } from "./sign-in-context.js";
import { SignInRefusal } from "./sign-in-refusal.js";

/** Wrong codes of one principal, and for how long (ms) they count. */
const MAX_WRONG = 10;
const WRONG_MS = 600_000;

/** Takes the codes that sessions hand in. */
export class Pairing {
  readonly #wrong: LRUCache<string, number>;

  constructor(private readonly context: SignInContext) {
    this.#wrong = new LRUCache({ max: 1_000, ttl: WRONG_MS, ttlResolution: 0, perf: { now: context.now } });
  }

  /**
   * Keeps the tokens that wait for this code of this principal.
   *
   * @param text as a person has typed it
   * @throws SignInRefusal where the code is wrong, spent or of another principal
   */
  async handIn(principal: string, text: string): Promise<Omit<Finished, "pairingCode">> {
    const wrong = this.#wrong.get(principal) ?? 0;
    if (wrong >= MAX_WRONG) {
      throw new SignInRefusal(
        `There were ${MAX_WRONG} wrong codes; wait ten minutes and sign in again.`,
        429,
      );
    }
    const code = readPairingCode(text);
    const record = await this.context.pending.take("pairing", `${principal} ${code}`);
    if (record === undefined) {
      this.#wrong.set(principal, wrong + 1, { noUpdateTTL: wrong > 0 });
      throw new SignInRefusal("This code is wrong, was used before, or is older than ten minutes.", 403);
    }
    const { credential, login } = record;
    await keepAndTell(this.context, credential);
    const { server, issuer, askedScopes: scopes } = credential;
    await noteEnd(this.context, login, { server, principal, state: "done", scopes });
    return { server, principal, issuer, scopes };
  }
}
