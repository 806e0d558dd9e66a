/** The credentials of every principal at every server: one token source for each, made at its first use. */
import { LRUCache } from "lru-cache";
import type { CredentialStore, RequestCredentials } from "../core/credentials.js";
import type { Logger } from "../core/logger.js";
import { type OpenVault, type RecordChange, recordFileOf } from "../vault/vault.js";
import type { Renewals } from "./renewals.js";
import type { TokenEndpoint } from "./token-endpoint.js";
import { type RefreshCounter, TokenEvents } from "./token-events.js";
import { TokenSource } from "./token-source.js";

/** What the store works with. */
export interface CredentialStoreOptions {
  readonly vault: OpenVault;
  /** The requests for a server of the config in use; the same object while its `auth` is the same. */
  readonly endpointOf: (server: string) => TokenEndpoint;
  /** The servers whose tokens come from a login at the issuer of this URL. Default: none. */
  readonly dependents?: (issuer: string) => readonly string[];
  readonly log: Logger;
  readonly counter: RefreshCounter;
  /** The process that refreshes; without it they run in this one. The caller closes it. */
  readonly renewals?: Pick<Renewals, "run">;
  /** ms since 1970; default: the clock. */
  readonly now?: () => number;
  /** From 0 to 1; default: random. */
  readonly random?: () => number;
  readonly deadline?: (ms: number) => AbortSignal;
}

/** The least recently used ones beyond are read from the vault again. */
const MAX_SOURCES = 10_000;
/** Of how many records it is remembered whether the principal is signed in. */
const MAX_KNOWN = 10_000;
/** A token is called expiring this long before its end. */
const EXPIRING_MS = 3_600_000;

const timeoutSignal = (ms: number): AbortSignal => AbortSignal.timeout(ms);

interface Listening {
  readonly server: string;
  readonly listener: (principal: string) => void;
}

interface Kept {
  readonly endpoint: TokenEndpoint;
  readonly source: TokenSource;
}

/** The store of one process. `close` ends the watch on the vault. */
export class TokenSources implements CredentialStore {
  readonly #sources = new LRUCache<string, Kept>({ max: MAX_SOURCES });
  /** By the file of the record. */
  readonly #known = new LRUCache<string, { readonly owner: TokenOwner; readonly isSignedIn: boolean }>({
    max: MAX_KNOWN,
  });
  readonly #listening = new Set<Listening>();
  readonly #events: TokenEvents;
  readonly #endWatch: () => void;

  constructor(private readonly options: CredentialStoreOptions) {
    this.#events = new TokenEvents(options.log, options.counter);
    this.#endWatch = options.vault.watch((change) => this.#onRecord(change));
  }

  of(server: string, principal: string): RequestCredentials {
    return this.source(server, principal);
  }

  /** The same, with what sign-ins need of it. */
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
      onSignedIn: (isSignedIn, isWider) => this.#note(file, { server, principal }, isSignedIn, isWider),
    });
    this.#sources.set(file, { endpoint, source });
    return source;
  }

  watch(server: string, listener: (principal: string) => void): () => void {
    const listening = { server, listener };
    this.#listening.add(listening);
    return () => void this.#listening.delete(listening);
  }

  /** How many tokens in use end within the hour, and only a person can replace them. */
  get expiring(): number {
    return [...this.#sources.values()].filter(({ source }) => source.isExpiring(EXPIRING_MS)).length;
  }

  close(): void {
    this.#endWatch();
    this.#listening.clear();
  }

  /** A record was written or removed, by this process or another one. */
  #onRecord({ file, credential }: RecordChange): void {
    const owner = credential ?? this.#known.get(file)?.owner;
    if (owner !== undefined) this.#notifyDependents(owner);
    const source = this.#sources.peek(file)?.source;
    const wasLoaded = source?.isLoaded ?? false;
    source?.adoptNewer(credential);
    // The source itself has notified of a change.
    if (wasLoaded) return;
    if (owner !== undefined) this.#note(file, owner, credential?.tokens !== undefined);
  }

  /** The login of a person has begun or ended: what depends on it tries again. */
  #notifyDependents({ server, principal }: TokenOwner): void {
    for (const dependent of this.options.dependents?.(server) ?? []) this.#notify(dependent, principal);
  }

  #note(file: string, { server, principal }: TokenOwner, isSignedIn: boolean, isWider = false): void {
    if (this.#known.get(file)?.isSignedIn === isSignedIn && !isWider) return;
    this.#known.set(file, { owner: { server, principal }, isSignedIn });
    this.#notify(server, principal);
  }

  #notify(server: string, principal: string): void {
    for (const listening of [...this.#listening]) {
      if (listening.server === server) listening.listener(principal);
    }
  }
}

interface TokenOwner {
  readonly server: string;
  readonly principal: string;
}
