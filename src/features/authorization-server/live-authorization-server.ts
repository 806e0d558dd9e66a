/** The authorization server for hosts, if the live config enables it. Loaded with its first request. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { isDeepStrictEqual } from "node:util";
import type { JWTVerifyGetKey } from "jose";
import type { AuthConfig } from "../../config/auth-config.js";
import type { RunningGateway } from "../../core/feature.js";
import type { Logger } from "../../core/logger.js";
import type { PersonSessions } from "../../core/person-sessions.js";
import type { TokenIssuer } from "../../downstream/authenticate/authentication.js";
import { clientAddress } from "../../http/client-address.js";
import { strangerLog } from "../../telemetry/stranger-log.js";
import { reservedIn } from "../../wire/reserved-ids.js";
import type { AuthorizationServer } from "./authorization-server.js";
import type { AuthorizationServerEndpoint } from "./paths.js";
import type { GrantStore, HostSignIn } from "./types.js";

interface LiveAuthorizationServerOptions {
  readonly gateway: () => Pick<RunningGateway, "config" | "url" | "store" | "replica">;
  /** The folder of the vault; without one, sign-ins end with the process. */
  readonly folder: string | undefined;
  readonly logger: Logger;
  /** Receives sign-in events. */
  readonly onSignIn: (event: HostSignIn) => void;
}

/** For client metadata documents of hosts. */
const DOCUMENT_MS = 10_000;

/** The authorization server of the live config. */
export class LiveAuthorizationServer implements TokenIssuer {
  /** The persons who are signed in at pages of the gateway. */
  readonly sessions: PersonSessions = {
    issuer: () => this.#options.gateway().config().auth?.signIn?.issuer,
    isShared: () => this.#isShared,
    of: async (request) =>
      this.sessions.issuer() === undefined ? undefined : (await this.#current()).personOf(request),
    begin: async (...asked) => (await this.#current()).beginPage(...asked),
    end: async (...asked) => (await this.#current()).endSession(...asked),
  };

  readonly #options: LiveAuthorizationServerOptions;
  /** Of the config for which the server was made. */
  #auth: AuthConfig | undefined;
  #server: Promise<AuthorizationServer> | undefined;
  #store: Promise<GrantStore> | undefined;

  constructor(options: LiveAuthorizationServerOptions) {
    this.#options = options;
  }

  /** The URL of the gateway for browsers. */
  issuer(): string {
    const { config, url } = this.#options.gateway();
    return config().listen.http.publicUrl ?? new URL(url() ?? "").origin;
  }

  serve(
    endpoint: AuthorizationServerEndpoint,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> | undefined {
    if (this.#options.gateway().config().auth?.signIn === undefined) return undefined;
    return this.#current().then((server) => server.serve(endpoint, request, response));
  }

  readonly keyOf: JWTVerifyGetKey = async (header, token) => (await this.#current()).keyOf(header, token);

  /** After a change of `auth` another one; issued tokens stay valid. */
  #current(): Promise<AuthorizationServer> {
    const { auth } = this.#options.gateway().config();
    const isSame = auth === this.#auth || isDeepStrictEqual(auth, this.#auth);
    this.#auth = auth;
    if (this.#server !== undefined && isSame) return this.#server;
    const server = this.#make(auth);
    this.#server = server;
    // The next request retries.
    server.catch(() => {
      if (this.#server === server) this.#server = undefined;
    });
    return server;
  }

  async #make(auth: AuthConfig | undefined): Promise<AuthorizationServer> {
    const { gateway, logger, onSignIn } = this.#options;
    const { config, url } = gateway();
    const addressOf = clientAddress(config().listen.http.trustedProxies);
    const { signIn, resource = url() ?? "", requiredScopes = [], keys = [] } = auth ?? {};
    if (signIn === undefined) throw new TypeError("auth.signIn is not configured");
    const [{ createAuthorizationServer }, { guardedFetch }, { fetchJson }, store] = await Promise.all([
      import("./authorization-server.js"),
      import("../../outgoing/guarded-fetch.js"),
      import("../../downstream/authenticate/issuer-keys.js"),
      this.#openStore(),
    ]);
    return createAuthorizationServer({
      ...{ signIn, resource, requiredScopes, store, onSignIn, addressOf },
      logger: strangerLog(logger),
      issuer: this.issuer(),
      isShared: this.#isShared,
      isReserved: reservedIn(keys),
      fetch: guardedFetch({
        serverUrl: signIn.issuer,
        allowHosts: signIn.allowHosts,
        allowKey: "auth.signIn.allowHosts",
      }),
      fetchDocument: (url) => fetchJson(url, AbortSignal.timeout(DOCUMENT_MS), "public"),
    });
  }

  /** Workers share the folder. */
  get #isShared(): boolean {
    const { config, replica, store } = this.#options.gateway();
    return replica === undefined || (store !== undefined && config().features.credentials !== undefined);
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
    const { folder, gateway, logger } = this.#options;
    if (folder === undefined) {
      const { MemoryStore } = await import("./memory-store.js");
      return new MemoryStore();
    }
    const [{ openGrantRecords }, { keySource }] = await Promise.all([
      import("./grant-records.js"),
      import("../vault/vault.js"),
    ]);
    // Neither changes while the gateway runs.
    const [config, { store }] = [gateway().config(), gateway()];
    const { keys, keyFile } = config.features.credentials ?? {};
    const source = {
      ...(keys !== undefined && { key: keys.join("\n") }),
      ...(keyFile !== undefined && { keyFile }),
    };
    return openGrantRecords({
      ...{ folder, keys: keySource({ folder, keys: source }), logger },
      ...(store !== undefined && config.features.credentials !== undefined && { shared: store }),
    });
  }
}
