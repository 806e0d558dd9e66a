/** Which tokens does this process use? For what must keep them from others than their server. */
import { LRUCache } from "lru-cache";
import type { TokenListener } from "../../core/credentials.js";
import type { TokenSet } from "../vault/types.js";

interface UsedTokens {
  readonly server: string;
  /** The present ones first, then those that they replaced: a server may still answer with these. */
  readonly tokens: readonly string[];
}

/** Sign-ins that are watched, the least recently changed go first; as many as the store has sources. */
const MAX_SIGN_INS = 10_000;
/** Tokens of one sign-in: the present ones, and those of one or two refreshes before. */
const MAX_TOKENS = 6;

/** The tokens in use, by the file of their record. */
export class TokenWatch {
  readonly #listeners = new Set<TokenListener>();
  readonly #used = new LRUCache<string, UsedTokens>({
    max: MAX_SIGN_INS,
    dispose: ({ server }, file, reason) => {
      if (reason !== "set") this.#notify(file, server, []);
    },
  });

  /** A record was read or written; without tokens it is signed out. */
  note(file: string, server: string, tokens: TokenSet | undefined): void {
    const before = this.#used.get(file);
    if (tokens === undefined) {
      this.#used.delete(file);
      return;
    }
    const { accessToken, refreshToken, idToken } = tokens;
    const present = [accessToken, refreshToken, idToken].filter((token) => token !== undefined);
    if (before !== undefined && present.every((token, at) => token === before.tokens[at])) return;
    const all = [...new Set([...present, ...(before?.tokens ?? [])])].slice(0, MAX_TOKENS);
    this.#used.set(file, { server, tokens: all });
    this.#notify(file, server, all);
  }

  /** Calls `listener` with the tokens of each sign-in, now and when they change. */
  watch(listener: TokenListener): () => void {
    this.#listeners.add(listener);
    for (const [file, { server, tokens }] of this.#used.entries()) listener(file, server, tokens);
    return () => void this.#listeners.delete(listener);
  }

  #notify(file: string, server: string, tokens: readonly string[]): void {
    for (const listener of this.#listeners) listener(file, server, tokens);
  }
}
