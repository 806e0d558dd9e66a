/** Which credentials and headers of hosts does each connection to one server carry, and whose calls therefore need a connection of their own? */
import type { ServerConfig } from "../../config/config.js";
import { ANONYMOUS, type Client } from "../../core/client.js";
import type {
  CredentialStore,
  RejectedRequest,
  RequestCredentials,
  SignInListener,
} from "../../core/credentials.js";
import { GatewayError, signInRequired } from "../../core/errors.js";
import { type CarriedHeader, headersFor, type SelectedHeaders } from "../../core/host-headers.js";
import { principalKey } from "../../core/principal.js";
import type { ListScope } from "../../core/upstream.js";
import { writeJson } from "../../wire/json-text.js";
import type { ChannelCredentials } from "../transport/request-authorization.js";
import { asksForBearer } from "../transport/unauthorized.js";

/**
 * A server that refused a request without credentials, and at which no principal has signed in, gets one without again after this
 * time (ms): a proxy in front of it may have erred, or its login was removed.
 */
const ASK_AGAIN_MS = 60_000;

/** The choice for one server. It needs none until it has refused a request without, or a principal has signed in there. */
export class ServerCredentials {
  readonly #server: string;
  readonly #auth: ServerConfig["auth"];
  readonly #carried: readonly CarriedHeader[] | undefined;
  readonly #store: CredentialStore;
  readonly #onNeeded: () => void;
  readonly #unwatch: () => void;
  #areNeeded: boolean;
  /** Whether a principal has signed in or out since the start. */
  #knowsSignIns = false;
  /** When a request without credentials was refused last (`performance.now()`). */
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(
    { name, auth, transport }: ServerConfig,
    settings: {
      readonly store: CredentialStore;
      /** Whether an earlier process knew that they are needed. */
      readonly areNeeded: boolean;
      /** Called once when they turn out to be needed. */
      readonly onNeeded: () => void;
      /** Called with the id of credentials that have come or gone, and whether they are there now. */
      readonly onChanged: SignInListener;
    },
  ) {
    this.#server = name;
    this.#auth = auth;
    this.#carried = "forwardHeaders" in transport ? transport.forwardHeaders : undefined;
    this.#store = settings.store;
    this.#onNeeded = settings.onNeeded;
    this.#areNeeded = auth !== undefined && (settings.areNeeded || auth.type !== "oauth");
    this.#unwatch =
      auth === undefined
        ? () => {}
        : settings.store.watch(name, (id, isSignedIn) => {
            this.#knowsSignIns = true;
            this.#need();
            settings.onChanged(id, isSignedIn);
          });
  }

  /** Whether the server asks for credentials, as far as is known. */
  get areNeeded(): boolean {
    return this.#areNeeded;
  }

  /** Whether requests may go without credentials at times although the server asked for some. */
  get mayGoWithout(): boolean {
    return this.#auth?.isAssumed === true && !this.#knowsSignIns;
  }

  /** Whether the server gets headers of hosts. */
  get carryHeaders(): boolean {
    return this.#carried !== undefined;
  }

  /** Whether principals have credentials of their own, so that nothing of one may reach another. */
  get areOfPrincipals(): boolean {
    return this.#areNeeded && this.#auth?.as === "principal";
  }

  /** The id of those of the shared connection, `shared` and `service` among them; undefined where it has none. */
  get sharedId(): string | undefined {
    if (this.#auth === undefined) return undefined;
    if (this.#auth.as !== "principal") return this.#auth.as;
    return this.#auth.hasPrincipals ? undefined : ANONYMOUS.id;
  }

  /** The id of those of `client`. */
  idOf(client: Client): string | undefined {
    return this.#auth?.as === "principal" ? principalKey(client.principal) : this.sharedId;
  }

  /** The headers of the host that requests for `client` carry; undefined where there are none. */
  headersOf({ principal }: Client): SelectedHeaders | undefined {
    return headersFor(principal, this.#carried);
  }

  /** Whether `client` needs a connection of its own, for its credentials or headers. */
  separates(client: Client): boolean {
    if (this.areOfPrincipals && principalKey(client.principal) !== this.sharedId) return true;
    return this.headersOf(client) !== undefined;
  }

  /** Whether a connection for `client` may be opened although the shared one could not be, for this reason. */
  mayReplaceShared(client: Client, reason: unknown): boolean {
    return this.headersOf(client) !== undefined || (needsSignIn(reason) && this.separates(client));
  }

  /** `scope` for the principal and the headers of `client` alone; that of a session or an affinity is one's own already, but not its class. */
  scopeOf(client: Client, scope: ListScope): ListScope {
    const { principal, affinity } = client;
    const digest = this.headersOf(client)?.digest;
    const whose = [principalKey(principal), ...(digest === undefined ? [] : [digest])];
    const own = (text: string): string => writeJson(["credentials", ...whose, text]);
    return {
      key: scope.key === affinity ? affinity : own(scope.key),
      capabilityClass: own(scope.capabilityClass),
      hasOwnUpdates: true,
      // The digest is of this process.
      ...(digest !== undefined && { isTransient: true as const }),
    };
  }

  /** Those of the requests over one connection; undefined where the config wants no sign-in. */
  ofChannel(id: string | undefined): ChannelCredentials | undefined {
    if (this.#auth === undefined) return undefined;
    const inner = id === undefined ? this.#none : this.#store.of(this.#server, id);
    const need = (): void => this.#need();
    // A server that asked for a sign-in is asked again without credentials.
    let isDoubted = false;
    const areUsed = (): boolean => this.#areNeeded && !(isDoubted && inner.header === undefined);
    // One connection asks once; the next one asks again, because the server may have changed.
    let offer: Promise<boolean> | undefined;
    const offersSignIn = (): Promise<boolean> => {
      offer ??= this.#store.offersSignIn(this.#server);
      return offer;
    };
    return {
      get areUsed() {
        return areUsed();
      },
      get header() {
        return inner.header;
      },
      obtain: async (signal) => {
        try {
          return await inner.obtain(signal);
        } catch (error) {
          if (!needsSignIn(error) || inner.hasSignedIn === true || !this.#mayAskAgain) throw error;
          isDoubted = true;
          return undefined;
        }
      },
      onRejected: async (rejected, signal) => {
        if (!this.#asksForSignIn(rejected) && !(await offersSignIn())) return undefined;
        need();
        if (rejected.sentHeader === undefined) {
          isDoubted = false;
          this.#refusedAt = performance.now();
        }
        return inner.onRejected(rejected, signal);
      },
    };
  }

  stop(): void {
    this.#unwatch();
  }

  /** Whether the config, the server or an earlier request shows that a sign-in is meant. */
  #asksForSignIn({ status, challenge, sentHeader }: RejectedRequest): boolean {
    if (this.#areNeeded || this.#auth?.isAssumed !== true) return true;
    return status === 403 || sentHeader !== undefined || asksForBearer(challenge);
  }

  /** Whether the next request may go without. */
  get #mayAskAgain(): boolean {
    return this.mayGoWithout && performance.now() - this.#refusedAt >= ASK_AGAIN_MS;
  }

  #need(): void {
    if (this.#areNeeded) return;
    this.#areNeeded = true;
    this.#onNeeded();
  }

  /** Of a connection that serves several principals, and may act for none of them. */
  get #none(): RequestCredentials {
    const isOfPersons = this.#auth?.as === "principal" && this.#auth.hasPrincipals;
    const refused = () => signInRequired(this.#server, isOfPersons ? "ID" : undefined);
    return {
      header: undefined,
      obtain: () => Promise.reject(refused()),
      onRejected: () => Promise.resolve(refused()),
    };
  }
}

/** Whether credentials are missing, or are no longer accepted. */
export const needsSignIn = (error: unknown): boolean =>
  error instanceof GatewayError && error.code === "sign_in_required";

/** The headers of hosts on one connection. */
export type LeaseHeaders = Readonly<Record<string, string>> | undefined;

/** The server as requests with these headers reach it. */
export function withHeaders(server: ServerConfig, headers: LeaseHeaders): ServerConfig {
  const { transport } = server;
  if (headers === undefined || !("headers" in transport)) return server;
  const own = Object.entries(transport.headers).filter(
    ([name]) => !Object.hasOwn(headers, name.toLowerCase()),
  );
  return { ...server, transport: { ...transport, headers: { ...Object.fromEntries(own), ...headers } } };
}
