/** The token in use, its end, and when the next one is due. Reading it for a call allocates nothing. */
import { endOf, renewalOf } from "./token-life.js";
import type { Credential } from "./types.js";

/** The token of one principal at one server, as this process knows it. Times in ms since 1970. */
export class CurrentToken {
  #credential: Credential | undefined;
  #adopted = 0;
  #header: string | undefined;
  #usableUntil = 0;
  #renewAt = 0;
  #refusedHeader: string | undefined;
  #refusedUntil = 0;

  /** @param random from 0 to 1 */
  constructor(private readonly random: () => number) {}

  /** The record that was last read or written. */
  get credential(): Credential | undefined {
    return this.#credential;
  }

  /** Counts adopted records: a read that started earlier must not overwrite a newer one. */
  get adopted(): number {
    return this.#adopted;
  }

  get isSignedIn(): boolean {
    return this.#credential?.tokens !== undefined;
  }

  /** The header, unless it equals `not` or the token has ended. */
  usable(now: number, not?: string): string | undefined {
    const header = this.#header;
    return header !== not && now < this.#usableUntil ? header : undefined;
  }

  /** Whether the next token must be obtained; also while the current one is still valid. */
  isDue(now: number): boolean {
    return this.#header !== undefined && now >= this.#renewAt;
  }

  /** Makes the token due at the next use. */
  makeDue(): void {
    this.#renewAt = 0;
  }

  /** Uses a record, or `undefined` if there is none. Returns whether the token changed. */
  adopt(credential: Credential | undefined, now: number): boolean {
    const before = this.#credential?.tokens?.accessToken;
    this.#adopted += 1;
    this.#credential = credential;
    const tokens = credential?.tokens;
    const header = tokens === undefined ? undefined : `Bearer ${tokens.accessToken}`;
    this.#header = this.#isRefused(header, now) ? undefined : header;
    this.#usableUntil = tokens === undefined ? 0 : endOf(tokens);
    const isOther = tokens?.accessToken !== before;
    if (tokens !== undefined && (isOther || this.#renewAt === 0)) {
      this.#renewAt = renewalOf(tokens, this.random());
    }
    return isOther;
  }

  /** The server rejects `header`: it is not used until `until`, even if there is no other token. */
  refuse(header: string, until: number): void {
    this.#refusedHeader = header;
    this.#refusedUntil = until;
    if (header === this.#header) this.#header = undefined;
  }

  /** Whether the token ends by then and cannot be refreshed. */
  endsBy(time: number): boolean {
    const tokens = this.#credential?.tokens;
    return tokens !== undefined && tokens.refreshToken === undefined && endOf(tokens) < time;
  }

  /** Whether only a person can obtain the next token: there is none, or it was rejected and cannot be refreshed. */
  needsPerson(now: number): boolean {
    const tokens = this.#credential?.tokens;
    if (tokens === undefined) return true;
    return tokens.refreshToken === undefined && this.#isRefused(`Bearer ${tokens.accessToken}`, now);
  }

  #isRefused(header: string | undefined, now: number): boolean {
    return header !== undefined && header === this.#refusedHeader && now < this.#refusedUntil;
  }
}
