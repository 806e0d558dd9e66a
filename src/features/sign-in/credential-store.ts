/** The credentials of all principals at all servers: one token source per pair, created at its first use. */
import { LRUCache } from "lru-cache";
import type {
  CredentialStore,
  RequestCredentials,
  SignInListener,
  TokenListener,
} from "../../core/credentials.js";
import type { Logger } from "../../core/logger.js";
import { type OpenVault, type RecordChange, recordFileOf } from "../vault/vault.js";
import type { Renewals } from "./renewals.js";
import type { TokenEndpoint } from "./token-endpoint.js";
import { type RefreshCounter, TokenEvents } from "./token-events.js";
import { TokenSource } from "./token-source.js";
import { TokenWatch } from "./token-watch.js";

/** Dependencies of the store. */
export interface CredentialStoreOptions {
  readonly vault: OpenVault;
  /** The token endpoint of a server of the live config; the same object until its `auth` changes. */
  readonly endpointOf: (server: string) => TokenEndpoint;
  /** Whether metadata of a server of the live config say that a person can sign in there. Never rejects. */
  readonly offersSignIn: (server: string) => Promise<boolean>;
  /** The servers whose tokens are obtained through a login at this issuer. Default: none. */
  readonly dependents?: (issuer: string) => readonly string[];
  readonly log: Logger;
  readonly counter: RefreshCounter;
  /** The renewal process; without it renewals run in this process. The caller closes it. */
  readonly renewals?: Pick<Renewals, "run">;
  /** ms since 1970; default: the clock. */
  readonly now?: () => number;
  /** From 0 to 1; default: random. */
  readonly random?: () => number;
  readonly deadline?: (ms: number) => AbortSignal;
}

/** Beyond this number the least recently used sources are dropped and read from the vault again. */
const MAX_SOURCES = 10_000;
/** For this number of records the store remembers whether the principal is signed in. */
const MAX_KNOWN = 10_000;
/** A token counts as expiring from this time before its end. */
const EXPIRING_MS = 3_600_000;

const timeoutSignal = (ms: number): AbortSignal => AbortSignal.timeout(ms);

interface Listening {
  readonly server: string;
  readonly listener: SignInListener;
}

interface Kept {
  readonly endpoint: TokenEndpoint;
  readonly source: TokenSource;
}

/** The store of one process. `close` ends the vault's watch. */
export class TokenSources implements CredentialStore {
  readonly #sources = new LRUCache<string, Kept>({ max: MAX_SOURCES });
  /** Keyed by the record's file. */
  readonly #known = new LRUCache<string, { readonly owner: TokenOwner; readonly isSignedIn: boolean }>({
    max: MAX_KNOWN,
  });
  readonly #listening = new Set<Listening>();
  readonly #tokens = new TokenWatch();
  readonly #events: TokenEvents;
  readonly #endWatch: () => void;

  constructor(private readonly options: CredentialStoreOptions) {
    this.#events = new TokenEvents(options.log, options.counter);
    this.#endWatch = options.vault.watch((change) => this.#onRecord(change));
  }

  of(server: string, principal: string): RequestCredentials {
    return this.source(server, principal);
  }

  /** The members that callers use, and those that sign-ins need. */
  source(server: string, principal: string): TokenSource {
    const file = recordFileOf(server, principal);
    const endpoint = this.options.endpointOf(server);
    const kept = this.#sources.get(file);
    if (kept?.endpoint === endpoint) return kept.source;
    const { vault, renewals, now = Date.now, random = Math.random, deadline = timeoutSignal } = this.options;
    const source = new TokenSource({
      ...{ server, principal, vault, endpoint, now, random, deadline },
      ...(renewals !== undefined && { renewals }),
      events: this.#events,
      onTokens: (tokens) => this.#tokens.note(file, server, tokens),
      onSignedIn: (isSignedIn, isWider) => this.#note(file, { server, principal }, isSignedIn, isWider),
    });
    this.#sources.set(file, { endpoint, source });
    return source;
  }

  watch(server: string, listener: SignInListener): () => void {
    const listening = { server, listener };
    this.#listening.add(listening);
    return () => void this.#listening.delete(listening);
  }

  watchTokens(listener: TokenListener): () => void {
    return this.#tokens.watch(listener);
  }

  offersSignIn(server: string): Promise<boolean> {
    return this.options.offersSignIn(server);
  }

  /** The number of tokens in use that end within the hour and that only a person can replace. */
  get expiring(): number {
    return [...this.#sources.values()].filter(({ source }) => source.isExpiring(EXPIRING_MS)).length;
  }

  close(): void {
    this.#endWatch();
    this.#listening.clear();
  }

  /** A record was written or removed, by this or another process. */
  #onRecord({ file, credential }: RecordChange): void {
    const owner = credential ?? this.#known.get(file)?.owner;
    if (owner !== undefined) {
      this.#notifyDependents(owner);
      this.#tokens.note(file, owner.server, credential?.tokens);
    }
    const source = this.#sources.peek(file)?.source;
    const wasLoaded = source?.isLoaded ?? false;
    source?.adoptNewer(credential);
    // The source has already notified its listeners.
    if (wasLoaded) return;
    if (owner !== undefined) this.#note(file, owner, credential?.tokens !== undefined);
  }

  /** A person's login started or ended: token sources that depend on it try again. */
  #notifyDependents({ server, principal }: TokenOwner): void {
    for (const dependent of this.options.dependents?.(server) ?? []) this.#notify(dependent, principal, true);
  }

  #note(file: string, { server, principal }: TokenOwner, isSignedIn: boolean, isWider = false): void {
    if (this.#known.get(file)?.isSignedIn === isSignedIn && !isWider) return;
    this.#known.set(file, { owner: { server, principal }, isSignedIn });
    this.#notify(server, principal, isSignedIn);
  }

  #notify(server: string, principal: string, isSignedIn: boolean): void {
    for (const listening of [...this.#listening]) {
      if (listening.server === server) listening.listener(principal, isSignedIn);
    }
  }
}

interface TokenOwner {
  readonly server: string;
  readonly principal: string;
}
