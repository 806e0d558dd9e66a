/** Signs in without a running gateway: over the same vault, with the command's own callback. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Config } from "../../config/config.js";
import { inBackground, type Logger } from "../../core/logger.js";
import type { SharedStore } from "../../core/shared-store.js";
import { ownerNamed } from "../../downstream/authenticate/authentication.js";
import { checkPageRequestHead, rebindingProtection } from "../../http/check-request-head.js";
import { stateFolder } from "../../state/state-folder.js";
import type { AcceptedIssuer } from "./accept-issuer.js";
import type { LoginRow } from "./login-rows.js";
import { openSignIns } from "./open-sign-ins.js";
import type { LoginState } from "./pending-content.js";
import { CALLBACK_PATH } from "./prepare-sign-in.js";
import type { SignInPages } from "./sign-in-pages.js";
import { asRefusal } from "./sign-in-refusal.js";
import type { BegunLogin } from "./sign-ins.js";
import type { SignedOut } from "./sign-out.js";

export type { BegunLogin, LoginRow, LoginState };

/** Sign-in operations of commands. Each method throws an Error with a message for the person. */
export interface SignInOperations {
  begin(
    server: string,
    as: string,
    options: { readonly device: boolean; readonly acceptsAudience: boolean },
  ): Promise<BegunLogin>;
  /** Pins the authorization server that `server` names now. */
  acceptIssuer(server: string): Promise<AcceptedIssuer>;
  /** Undefined if the login has expired. */
  state(login: string): Promise<LoginState | undefined>;
  /** Finishes with the callback URL from the browser. */
  finish(login: string, url: string): Promise<void>;
  signOut(server: string, as: string): Promise<SignedOut>;
  logins(): Promise<readonly LoginRow[]>;
}

/** Dependencies of the sign-ins. */
export interface LocalSignInsOptions {
  readonly config: Config;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The public URL of a running gateway over the same vault, which receives the callback; undefined if none runs. */
  readonly gatewayUrl: string | undefined;
  readonly logger: Logger;
  /** See `OpenSignInsOptions`. */
  readonly store: SharedStore | undefined;
}

/** An error that a person can fix; the message says how. */
class LoginRefused extends Error {
  override readonly name = "LoginRefused";

  /** @param isTemporary whether a retry may succeed */
  constructor(
    message: string,
    readonly isTemporary: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Opens the vault; the callback listens after the first `begin`. `close` cancels all waits. */
export function openLocalSignIns(
  options: LocalSignInsOptions,
): SignInOperations & { close(): Promise<void> } {
  const { config, env, gatewayUrl, logger, store } = options;
  const { publicUrl, port } = config.listen.http;
  let server: Server | undefined;
  let baseUrl = publicUrl ?? (gatewayUrl === undefined ? undefined : new URL(gatewayUrl).origin);
  const opening = openSignIns({
    config: () => config,
    store,
    folder: join(stateFolder(env), "credentials"),
    baseUrl: () => baseUrl ?? `http://127.0.0.1:${port}`,
    logger,
    counter: { signedIn: () => {}, quirkUsed: () => {}, tokenRefreshed: () => {} },
  });
  // Each method reports it.
  opening.catch(() => {});

  return {
    begin: (name, as, how) =>
      orRefused(async () => {
        const { signIns, pages } = await opening;
        if (baseUrl === undefined && !how.device) {
          server = callbackServer(pages, logger);
          baseUrl = `http://127.0.0.1:${await bound(server, port)}`;
        }
        return signIns.begin(name, ownerNamed(as, config.auth), how);
      }),
    acceptIssuer: (name) => orRefused(async () => (await opening).signIns.acceptIssuer(name)),
    state: (login) => orRefused(async () => (await opening).signIns.state(login)),
    finish: (login, url) =>
      orRefused(async () => {
        await (await opening).signIns.pasted(login, url);
      }),
    signOut: (name, as) =>
      orRefused(async () => (await opening).signIns.signOut(name, ownerNamed(as, config.auth))),
    logins: () => orRefused(async () => (await opening).signIns.logins()),
    async close() {
      const opened = await opening.catch(() => undefined);
      opened?.close();
      if (server !== undefined) await endServer(server);
    },
  };
}

/** @throws LoginRefused */
async function orRefused<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const refusal = asRefusal(error);
    if (refusal === undefined) throw error;
    throw new LoginRefused(refusal.message, refusal.status === 503, { cause: error });
  }
}

/** How long (ms) the page that a browser is reading may take after the login has ended. */
const LAST_PAGE_MS = 2_000;

/** Ends the server once its responses are sent. */
async function endServer(server: Server): Promise<void> {
  const ended = new Promise<void>((resolve) => server.close(() => resolve()));
  const timer = setTimeout(() => server.closeAllConnections(), LAST_PAGE_MS);
  await ended;
  clearTimeout(timer);
}

/** Serves only the callback, on loopback. */
function callbackServer(pages: SignInPages, logger: Logger): Server {
  const protection = rebindingProtection({ bind: "127.0.0.1", allowedHosts: [], allowedOrigins: [] });
  return createServer((request, response) => {
    // The server ends with the login, and waits for no browser that keeps its connection.
    response.setHeader("connection", "close");
    try {
      checkPageRequestHead(request, protection);
    } catch {
      response.writeHead(403).end();
      return;
    }
    const [path] = (request.url ?? "").split("?", 1);
    if (path === CALLBACK_PATH) {
      inBackground(pages.serve("callback", request, response, ""), logger, "serving the callback");
    } else response.writeHead(404).end();
  });
}

/** The port of the main listener, at which clients are registered, otherwise a free one. */
async function bound(server: Server, port: number): Promise<number> {
  const listen = (at: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(at, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });
  await listen(port).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE" && error.code !== "EACCES") throw error;
    return listen(0);
  });
  return (server.address() as AddressInfo).port;
}
