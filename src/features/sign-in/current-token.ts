/** The token in use, its end, and when the next one is due. Reading it for a call allocates nothing. */
import type { Credential, TokenSet } from "../vault/types.js";

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

  /** Whether the server rejects the token of the record at present. */
  isRefused(now: number): boolean {
    const tokens = this.#credential?.tokens;
    return tokens !== undefined && this.#isRefused(`Bearer ${tokens.accessToken}`, now);
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

/** A token is renewed this long before its end at the latest. */
const AHEAD_MS = 60_000;
/** A token is renewed after this fraction of its lifetime at the latest. */
const PART = 0.75;
/** A token is not renewed before this fraction of its lifetime, however short that is. */
const LEAST_PART = 0.5;
/** Jitter, as a fraction of the lifetime: processes that share a token do not all renew it at the same time. */
const JITTER_PART = 0.05;

/** When it expires; Infinity if the server did not say. */
const endOf = ({ expiresAt }: TokenSet): number => expiresAt ?? Number.POSITIVE_INFINITY;

/**
 * When it must be renewed while still valid; Infinity without a known end, because only a 401 reveals it.
 *
 * @param random from 0 to 1
 */
function renewalOf({ obtainedAt, expiresAt }: TokenSet, random: number): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  const life = Math.max(0, expiresAt - obtainedAt);
  const part = Math.min(PART * life, Math.max(life - AHEAD_MS, LEAST_PART * life));
  return obtainedAt + part - random * JITTER_PART * life;
}

/** The delays between failed attempts: 1 s, doubled each time, up to 5 min, minus up to half as jitter. */
export function backoffMs(failures: number, random: number): number {
  const full = Math.min(1_000 * 2 ** Math.min(failures, 20), 300_000);
  return full * (1 - random / 2);
}
