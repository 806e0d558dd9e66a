/** Which token is in use, until when, and since when is the next one due? What a call reads costs no allocation. */
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

  /** The record that was read or written last. */
  get credential(): Credential | undefined {
    return this.#credential;
  }

  /** How often a record was adopted: a read that took longer must not undo another. */
  get adopted(): number {
    return this.#adopted;
  }

  get isSignedIn(): boolean {
    return this.#credential?.tokens !== undefined;
  }

  /** The header, unless it is `not`, or the token has ended. */
  usable(now: number, not?: string): string | undefined {
    const header = this.#header;
    return header !== not && now < this.#usableUntil ? header : undefined;
  }

  /** Whether the next token is to be obtained; also where this one still lives. */
  isDue(now: number): boolean {
    return this.#header !== undefined && now >= this.#renewAt;
  }

  /** It is due at the next use. */
  makeDue(): void {
    this.#renewAt = 0;
  }

  /** Uses a record; undefined where there is none. Returns whether its token is another one. */
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

  /** The server does not accept `header`: it is not used until `until`, even where there is no other one. */
  refuse(header: string, until: number): void {
    this.#refusedHeader = header;
    this.#refusedUntil = until;
    if (header === this.#header) this.#header = undefined;
  }

  /** Whether it ends by then, and cannot be refreshed. */
  endsBy(time: number): boolean {
    const tokens = this.#credential?.tokens;
    return tokens !== undefined && tokens.refreshToken === undefined && endOf(tokens) < time;
  }

  /** Whether only a person can get the next token: there is none, or it is refused and cannot be refreshed. */
  needsPerson(now: number): boolean {
    const tokens = this.#credential?.tokens;
    if (tokens === undefined) return true;
    return tokens.refreshToken === undefined && this.#isRefused(`Bearer ${tokens.accessToken}`, now);
  }

  #isRefused(header: string | undefined, now: number): boolean {
    return header !== undefined && header === this.#refusedHeader && now < this.#refusedUntil;
  }
}
