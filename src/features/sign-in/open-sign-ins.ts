/** Opens the sign-ins of one process: vault, pending records, credentials and pages. */
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Config } from "../../config/config.js";
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { SharedStore } from "../../core/shared-store.js";
import { recordsAt } from "../vault/records.js";
import type { Vault } from "../vault/types.js";
import { keySource, openVault } from "../vault/vault.js";
import { TokenSources } from "./credential-store.js";
import { dependentsOf, identityServerOf, loginNamed } from "./login-server.js";
import { offersSignIn } from "./offers-sign-in.js";
import { PendingRecords } from "./pending-records.js";
import { Renewals } from "./renewals.js";
import { tokenEndpointOf } from "./server-token-endpoint.js";
import { type SignInCounter, SignInEvents } from "./sign-in-events.js";
import { SignInPages } from "./sign-in-pages.js";
import { type SignInServer, signInServer } from "./sign-in-server.js";
import { SignIns } from "./sign-ins.js";
import type { TokenEndpoint } from "./token-endpoint.js";
import type { RefreshCounter } from "./token-events.js";

/** Dependencies of the sign-ins. */
export interface OpenSignInsOptions {
  /** The live config. */
  readonly config: () => Config;
  /** The folder of the vault. */
  readonly folder: string;
  /** The store that replicas share. With a key in the config it replaces the folder. */
  readonly store?: SharedStore | undefined;
  /** The URL of the gateway for browsers, without a slash at its end. */
  readonly baseUrl: () => string;
  readonly logger: Logger;
  readonly counter: SignInCounter & RefreshCounter;
}

/** The sign-ins, their pages, and the resulting credentials. */
export interface OpenedSignIns {
  readonly signIns: SignIns;
  readonly pages: SignInPages;
  readonly credentials: TokenSources;
  /** Stops background work; a renewal in the renewal process runs to its end. */
  close(): void;
}

/** @throws VaultError if the vault cannot be used */
export async function openSignIns(options: OpenSignInsOptions): Promise<OpenedSignIns> {
  const { config, folder, baseUrl, logger, counter, store } = options;
  const { credentials: sealedWith } = config().features;
  const { keys, keyFile } = sealedWith ?? {};
  const given = {
    ...(keys !== undefined && { key: keys.join("\n") }),
    ...(keyFile !== undefined && { keyFile }),
  };
  const now = () => Date.now();
  // In a store they are encrypted with a key that all replicas have.
  const isShared = store !== undefined && sealedWith !== undefined;
  const shared = isShared ? { shared: store } : {};
  const vault = await openVault({ folder, keys: given, logger, ...shared });
  const renewals = new Renewals({ folder, keys: given, ...(isShared && { store: store.recipe }) }, logger);
  const endpoints = new TokenEndpoints(vault, baseUrl, (name) => signInServer(config(), name));
  const endpointOf = (name: string): TokenEndpoint => endpoints.of(name);
  const dependents = (issuer: string) => dependentsOf(config(), issuer).map(({ name }) => name);
  const credentials = new TokenSources({
    ...{ vault, endpointOf, dependents, counter },
    // Another process can open only a store that says how.
    ...((!isShared || store.recipe !== undefined) && { renewals }),
    log: logger,
    offersSignIn: (name) => offersSignIn(signInServer(config(), name)),
  });
  const signIns = new SignIns({
    ...{ vault, baseUrl, now },
    pending: new PendingRecords({
      records: recordsAt({
        folder: join(dirname(folder), "sign-ins"),
        keys: keySource({ folder, keys: given }),
        logger,
        ...shared,
      }),
      now,
    }),
    events: new SignInEvents(logger, counter),
    serverOf: (name) => loginNamed(config(), name),
    identity: () => identityServerOf(config().auth),
    lackedScopes: (server, owner) => credentials.source(server, owner).lackedScopes,
    // An aborted sleep resolves; its caller checks the signal.
    wait: (ms, signal) => delay(ms, undefined, { signal }).catch(() => {}),
  });
  const identification = () => ({ auth: config().auth, host: config().listen.http.host });
  return {
    ...{ signIns, credentials },
    pages: new SignInPages({ signIns, identification, baseUrl, logger, now }),
    close() {
      signIns.close();
      credentials.close();
      renewals.close();
    },
  };
}

/** The token endpoints of the servers of the config: the same object while its inputs are the same. */
class TokenEndpoints {
  readonly #made = new Map<string, { readonly server: SignInServer; readonly endpoint: TokenEndpoint }>();

  constructor(
    private readonly vault: Vault,
    private readonly baseUrl: () => string,
    private readonly serverOf: (name: string) => SignInServer | undefined,
  ) {}

  /** @throws GatewayError if the config no longer has such a server */
  of(name: string): TokenEndpoint {
    const server = this.serverOf(name);
    if (server === undefined) {
      this.#made.delete(name);
      const sentence = `${name} is not a server of the config that needs a sign-in`;
      throw new GatewayError("upstream_unavailable", "gateway", sentence, { server: name, retryable: true });
    }
    const known = this.#made.get(name);
    if (known !== undefined && isDeepStrictEqual(known.server, server)) return known.endpoint;
    const endpoint = tokenEndpointOf({ server, baseUrl: this.baseUrl() }, this.vault);
    this.#made.set(name, { server, endpoint });
    return endpoint;
  }
}
