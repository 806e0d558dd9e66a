/** A credential store in memory: tokens that a test gives and takes, and what was asked of it. */
import type {
  CredentialStore,
  RejectedRequest,
  RequestCredentials,
  SignInListener,
} from "../../src/core/credentials.js";
import { GatewayError, signInRequired } from "../../src/core/errors.js";
import { idOfKey, principalOf } from "../../src/core/principal.js";
import { asOfKey } from "../../src/core/sign-in-command.js";

export class FakeStore implements CredentialStore {
  /** Tokens by server and principal. */
  readonly #tokens = new Map<string, string>();
  readonly #listeners = new Map<string, Set<SignInListener>>();
  readonly #objects = new Map<string, RequestCredentials>();
  readonly rejected: (RejectedRequest & { readonly principal: string })[] = [];
  /** How often a token had to be waited for. */
  obtained = 0;
  /** Replaces a refused token, where the test sets it; else the person must sign in. */
  renew: (principal: string, rejected: RejectedRequest) => string | undefined = () => undefined;

  readonly #ended = new Set<string>();

  /** Whether servers have metadata of OAuth. */
  offers = true;

  async offersSignIn(): Promise<boolean> {
    return this.offers;
  }

  of(server: string, owner: string): RequestCredentials {
    const principal = idOfKey(owner);
    const key = keyOf(server, principal);
    const known = this.#objects.get(key);
    if (known !== undefined) return known;
    const tokens = this.#tokens;
    const ended = this.#ended;
    const made: RequestCredentials = {
      get hasSignedIn() {
        return tokens.has(key) || ended.has(key);
      },
      get header() {
        const token = tokens.get(key);
        return token === undefined ? undefined : `Bearer ${token}`;
      },
      obtain: async () => {
        this.obtained += 1;
        const token = tokens.get(key);
        if (token === undefined) throw signInRequired(server, asOfKey(owner));
        return `Bearer ${token}`;
      },
      onRejected: async (rejected) => {
        this.rejected.push({ ...rejected, principal });
        const held = tokens.get(key);
        if (held !== undefined && rejected.sentHeader !== `Bearer ${held}`) return `Bearer ${held}`;
        const renewed = this.renew(principal, rejected);
        if (renewed === undefined) return signInRequired(server, asOfKey(owner));
        tokens.set(key, renewed);
        return `Bearer ${renewed}`;
      },
    };
    this.#objects.set(key, made);
    return made;
  }

  watch(server: string, listener: SignInListener): () => void {
    const listeners = this.#listeners.get(server) ?? new Set();
    this.#listeners.set(server, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  signIn(server: string, principal: string, token = `token-of-${principal}`): void {
    this.#tokens.set(keyOf(server, principal), token);
    this.#notify(server, principal);
  }

  signOut(server: string, principal: string): void {
    this.#tokens.delete(keyOf(server, principal));
    this.#notify(server, principal);
  }

  /** A sign-in of an earlier process, whose tokens are no longer accepted. */
  end(server: string, principal: string): void {
    this.#ended.add(keyOf(server, principal));
  }

  watchers(server: string): number {
    return this.#listeners.get(server)?.size ?? 0;
  }

  #notify(server: string, principal: string): void {
    const owners = [principal, principalOf("key", principal).key ?? principal];
    for (const listener of [...(this.#listeners.get(server) ?? [])])
      for (const owner of owners) listener(owner, this.#tokens.has(keyOf(server, principal)));
  }
}

/** Tests know principals by their ids, and the gateway by their keys. */
const keyOf = (server: string, principal: string): string => JSON.stringify([server, idOfKey(principal)]);

/** The authorization server cannot be reached, and no token is left. */
export const unreachable = (server: string): GatewayError =>
  new GatewayError("upstream_unavailable", "upstream", `the login of ${server} cannot be reached`, {
    server,
    retryable: true,
  });
