/** The sign-ins of a running gateway: loaded with the first page, command or call that needs them. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Client } from "../../core/client.js";
import type { CredentialStore, PersonSignIns } from "../../core/credentials.js";
import { GatewayError } from "../../core/errors.js";
import type { RunningGateway } from "../../core/feature.js";
import { inBackground, type Logger } from "../../core/logger.js";
import { principalKey } from "../../core/principal.js";
import { ownerNamed } from "../../downstream/authenticate/authentication.js";
import type { LoginActions } from "./admin-actions.js";
import { LiveCredentials } from "./live-credentials.js";
import type { LoginRow } from "./login-rows.js";
import type { OpenedSignIns } from "./open-sign-ins.js";
import type { SignInCounter } from "./sign-in-events.js";
import type { SignInPage } from "./sign-in-pages.js";
import type { RefreshCounter } from "./token-events.js";

interface LiveSignInsOptions {
  readonly gateway: () => Pick<RunningGateway, "config" | "url" | "store">;
  /** The folder of the vault. */
  readonly folder: string;
  readonly logger: Logger;
  readonly counter: SignInCounter & RefreshCounter;
}

/** The sign-ins of the live config. */
export class LiveSignIns implements LoginActions {
  /** Of all principals. */
  readonly credentials: CredentialStore;
  readonly #options: LiveSignInsOptions;
  #opened: Promise<OpenedSignIns> | undefined;
  #expiring: (() => number) | undefined;

  constructor(options: LiveSignInsOptions) {
    this.#options = options;
    this.credentials = new LiveCredentials(async () => (await this.#open()).credentials);
  }

  /** The page where the person behind a client signs in at `server`; undefined if no browser can reach this gateway. @throws GatewayError */
  readonly connectUrlOf = async (server: string, { principal }: Client): Promise<string | undefined> => {
    if (this.#options.gateway().url() === undefined) return undefined;
    return this.#with(({ signIns }) => signIns.connectUrl(server, principalKey(principal)));
  };

  /** For the page of a person. */
  readonly persons: PersonSignIns = {
    isSignedIn: (server, principal) => this.#with(({ signIns }) => signIns.isSignedIn(server, principal)),
    connectUrl: async (server, principal, back) =>
      this.#options.gateway().url() === undefined
        ? undefined
        : this.#with(({ signIns }) => signIns.connectUrl(server, principal, { back })),
    signOut: async (server, principal) => {
      await this.#with(({ signIns }) => signIns.signOut(server, principal));
    },
  };

  /** The number of tokens in use that end within the hour and that only a person can replace. */
  get expiring(): number {
    return this.#expiring?.() ?? 0;
  }

  serve(page: SignInPage, request: IncomingMessage, response: ServerResponse, ticket: string): Promise<void> {
    return this.#open().then(({ pages }) => pages.serve(page, request, response, ticket));
  }

  logins(): Promise<readonly LoginRow[]> {
    return this.#with(({ signIns }) => signIns.logins());
  }

  begin(
    server: string,
    as: string,
    options: { readonly device: boolean; readonly acceptsAudience: boolean },
  ): Promise<unknown> {
    return this.#with(({ signIns }) => signIns.begin(server, this.#ownerNamed(as), options));
  }

  acceptIssuer(server: string): Promise<unknown> {
    return this.#with(({ signIns }) => signIns.acceptIssuer(server));
  }

  state(login: string): Promise<unknown> {
    return this.#with(({ signIns }) => signIns.state(login));
  }

  finish(login: string, url: string): Promise<unknown> {
    return this.#with(({ signIns }) => signIns.pasted(login, url));
  }

  signOut(server: string, as: string): Promise<unknown> {
    return this.#with(({ signIns }) => signIns.signOut(server, this.#ownerNamed(as)));
  }

  /** Ends device sign-ins and background renewals. */
  close(): void {
    const closing = this.#opened?.then((opened) => opened.close());
    if (closing !== undefined) inBackground(closing, this.#options.logger, "closing the sign-ins");
  }

  /** @throws GatewayError for errors that a person can fix */
  async #with<T>(use: (opened: OpenedSignIns) => Promise<T>): Promise<T> {
    try {
      return await use(await this.#open());
    } catch (error) {
      const { asRefusal } = await import("./sign-in-refusal.js");
      const refusal = asRefusal(error);
      if (refusal === undefined) throw error;
      const { status, message } = refusal;
      const code = status >= 500 ? "upstream_unavailable" : status === 403 ? "forbidden" : "bad_request";
      throw new GatewayError(code, "gateway", message, { cause: error });
    }
  }

  #ownerNamed(as: string): string {
    return ownerNamed(as, this.#options.gateway().config().auth);
  }

  #open(): Promise<OpenedSignIns> {
    if (this.#opened !== undefined) return this.#opened;
    const opened = this.#load();
    this.#opened = opened;
    // The next use retries.
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined;
    });
    return opened;
  }

  async #load(): Promise<OpenedSignIns> {
    const { gateway, folder, logger, counter } = this.#options;
    const { config, store } = gateway();
    const { openSignIns } = await import("./open-sign-ins.js");
    const opened = await openSignIns({
      ...{ config, folder, store, logger, counter },
      baseUrl: () => this.#baseUrl(),
    });
    this.#expiring = () => opened.credentials.expiring;
    return opened;
  }

  #baseUrl(): string {
    const { config, url } = this.#options.gateway();
    return config().listen.http.publicUrl ?? browsable(url() ?? "http://127.0.0.1");
  }
}

/** The origin of a listener for a browser on this machine. */
function browsable(url: string): string {
  const { origin } = new URL(url);
  return origin.replace(/^(http:\/\/)(?:0\.0\.0\.0|\[::\])(?=:|$)/, "$1127.0.0.1");
}
