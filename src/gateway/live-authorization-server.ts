/** The authorization server for hosts, if the live config enables it. Loaded with its first request. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { JWTVerifyGetKey } from "jose";
import type { AuthorizationServer } from "../authorization-server/authorization-server.js";
import type { GrantStore, HostSignIn } from "../authorization-server/types.js";
import type { AuthConfig } from "../config/auth-config.js";
import { sharesSignIns } from "../config/cluster-config.js";
import type { Config } from "../config/config.js";
import type { SharedStore } from "../core/cluster.js";
import type { Logger } from "../core/logger.js";
import type { TokenIssuer } from "../downstream/authenticate/authentication.js";
import type { AuthorizationServerRoutes } from "../downstream/http-routes.js";
import type { AuthorizationServerEndpoint } from "../http/authorization-server-paths.js";
import type { ClientAddress } from "../http/client-address.js";
import { strangerLog } from "../telemetry/stranger-log.js";
import { reservedIn } from "../wire/reserved-ids.js";

interface LiveAuthorizationServerOptions {
  /** Neither the listener nor the keys of credentials change while the gateway runs. */
  readonly config: Pick<Config, "listen" | "credentials" | "cluster">;
  /** The folder of the vault; without one, sign-ins end with the process. */
  readonly folder: string | undefined;
  /** The store of the cluster, if there is one. */
  readonly store: SharedStore | undefined;
  /** The URL of the MCP endpoint, once the gateway listens. */
  readonly url: () => string;
  readonly addressOf: ClientAddress;
  readonly logger: Logger;
  /** Receives sign-in events. */
  readonly onSignIn: (event: HostSignIn) => void;
}

/** For client metadata documents of hosts. */
const DOCUMENT_MS = 10_000;

/** The authorization server of the live config. */
export class LiveAuthorizationServer implements AuthorizationServerRoutes, TokenIssuer {
  readonly #options: LiveAuthorizationServerOptions;
  #auth: AuthConfig | undefined;
  #server: Promise<AuthorizationServer> | undefined;
  #store: Promise<GrantStore> | undefined;

  constructor(auth: AuthConfig | undefined, options: LiveAuthorizationServerOptions) {
    this.#auth = auth;
    this.#options = options;
  }

  /** Applies a new config; issued tokens stay valid. */
  replace(auth: AuthConfig | undefined): void {
    this.#auth = auth;
    this.#server = undefined;
  }

  /** The URL of the gateway for browsers. */
  issuer(): string {
    const { config, url } = this.#options;
    return config.listen.http.publicUrl ?? new URL(url()).origin;
  }

  serve(
    endpoint: AuthorizationServerEndpoint,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> | undefined {
    if (this.#auth?.signIn === undefined) return undefined;
    return this.#current().then((server) => server.serve(endpoint, request, response));
  }

  readonly keyOf: JWTVerifyGetKey = async (header, token) => (await this.#current()).keyOf(header, token);

  #current(): Promise<AuthorizationServer> {
    if (this.#server !== undefined) return this.#server;
    const server = this.#make();
    this.#server = server;
    // The next request retries.
    server.catch(() => {
      if (this.#server === server) this.#server = undefined;
    });
    return server;
  }

  async #make(): Promise<AuthorizationServer> {
    const { url, logger, onSignIn, addressOf } = this.#options;
    const { signIn, resource = url(), requiredScopes = [], keys = [] } = this.#auth ?? {};
    if (signIn === undefined) throw new TypeError("auth.signIn is not configured");
    const [{ createAuthorizationServer }, { guardedFetch }, { fetchJson }, store] = await Promise.all([
      import("../authorization-server/authorization-server.js"),
      import("../outgoing/guarded-fetch.js"),
      import("../downstream/authenticate/issuer-keys.js"),
      this.#openStore(),
    ]);
    return createAuthorizationServer({
      ...{ signIn, resource, requiredScopes, store, onSignIn, addressOf },
      logger: strangerLog(logger),
      issuer: this.issuer(),
      isReserved: reservedIn(keys),
      fetch: guardedFetch({
        serverUrl: signIn.issuer,
        allowHosts: signIn.allowHosts,
        allowKey: "auth.signIn.allowHosts",
      }),
      fetchDocument: (url) => fetchJson(url, AbortSignal.timeout(DOCUMENT_MS), "public"),
    });
  }

  #openStore(): Promise<GrantStore> {
    if (this.#store !== undefined) return this.#store;
    const store = this.#open();
    this.#store = store;
    store.catch(() => {
      this.#store = undefined;
    });
    return store;
  }

  async #open(): Promise<GrantStore> {
    const { folder, config, store, logger } = this.#options;
    if (folder === undefined) {
      const { MemoryStore } = await import("../authorization-server/memory-store.js");
      return new MemoryStore();
    }
    const [{ openGrantRecords }, { keySource }] = await Promise.all([
      import("../authorization-server/grant-records.js"),
      import("../vault/vault.js"),
    ]);
    const { keys, keyFile } = config.credentials ?? {};
    const source = {
      ...(keys !== undefined && { key: keys.join("\n") }),
      ...(keyFile !== undefined && { keyFile }),
    };
    return openGrantRecords({
      ...{ folder, keys: keySource({ folder, keys: source }), logger },
      ...(sharesSignIns(config) && store !== undefined && { shared: store }),
    });
  }
}
