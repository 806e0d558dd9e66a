/** Signing in as one gateway process does it: its pages on a port of their own, over a state folder that others may share. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { AuthConfig } from "../../../src/config/auth-config.js";
import type { ServerAuthConfig } from "../../../src/config/server-auth.js";
import type { Logger } from "../../../src/core/logger.js";
import { identityServerOf, loginServerOf } from "../../../src/features/sign-in/login-server.js";
import { PendingRecords } from "../../../src/features/sign-in/pending-records.js";
import { SignInEvents } from "../../../src/features/sign-in/sign-in-events.js";
import { SignInPages } from "../../../src/features/sign-in/sign-in-pages.js";
import type { SignInServer } from "../../../src/features/sign-in/sign-in-server.js";
import { SignIns } from "../../../src/features/sign-in/sign-ins.js";
import { recordsAt } from "../../../src/features/vault/records.js";
import { keySource, type OpenVault } from "../../../src/features/vault/vault.js";
import { stateFolder, vaultIn } from "../vault/credentials.js";

interface DeskOptions {
  readonly mcpUrl: string;
  readonly auth?: AuthConfig;
  readonly server?: Partial<ServerAuthConfig>;
  readonly state?: string;
  /** The scopes that requests were refused for lack of. */
  readonly lackedScopes?: () => readonly string[];
  readonly host?: string;
  /** Where browsers find the gateway; default: where it listens. */
  readonly baseUrl?: string;
}

export interface Desk {
  readonly signIns: SignIns;
  readonly vault: OpenVault;
  readonly url: string;
  readonly state: string;
  /** Added to the clock, in ms. */
  later(ms: number): void;
  /** The time between two polls of a device sign-in is over. */
  poll(): void;
  /** Log lines, with all their fields. */
  readonly lines: readonly string[];
  readonly counted: readonly string[];
}

/** A person, at the server `notes`. */
export async function startDesk({ mcpUrl, auth, server, ...options }: DeskOptions): Promise<Desk> {
  const state = options.state ?? stateFolder();
  const folder = join(state, "credentials");
  const vault = await vaultIn(state);
  const lines: string[] = [];
  const counted: string[] = [];
  const write = (fields: object, text: string): void => {
    lines.push(`${text} ${JSON.stringify(fields)}`);
  };
  const logger: Logger = { error: write, warn: write, info: write, debug: write } as unknown as Logger;
  let ahead = 0;
  let poll = (): void => {};
  const now = () => Date.now() + ahead;
  const notes: SignInServer = {
    name: "notes",
    url: mcpUrl,
    headers: {},
    auth: { type: "oauth", hasPrincipals: true, as: "principal", quirks: {}, allowHosts: [], ...server },
  };
  let serve: SignInPages | undefined;
  const http = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const page = path.startsWith("/oauth/connect/")
      ? "connect"
      : path === "/oauth/callback"
        ? "callback"
        : "client";
    void serve?.serve(page, request, response, path.split("/").at(-1) ?? "");
  });
  await new Promise<void>((listening) => http.listen(0, "127.0.0.1", listening));
  const { port } = http.address() as AddressInfo;
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const url = `http://127.0.0.1:${port}`;
  const baseUrl = () => options.baseUrl ?? url;
  const identity = () => identityServerOf(auth);
  const signIns = new SignIns({
    vault,
    pending: new PendingRecords({
      records: recordsAt({ folder: join(state, "sign-ins"), keys: keySource({ folder }), logger }),
      now,
    }),
    events: new SignInEvents(logger, {
      signedIn: (name, outcome) => void counted.push(`${name} ${outcome}`),
      quirkUsed: (name, quirk) => void counted.push(`${name} with ${quirk}`),
    }),
    serverOf: (name) => [notes, loginServerOf(notes), identity()].find((place) => place?.name === name),
    identity,
    ...{ baseUrl, now },
    ...(options.lackedScopes !== undefined && { lackedScopes: options.lackedScopes }),
    wait: () =>
      new Promise((resolve) => {
        poll = resolve;
      }),
  });
  onTestFinished(() => signIns.close());
  const identification = () => ({ auth, host: options.host ?? "127.0.0.1" });
  serve = new SignInPages({ signIns, identification, baseUrl, logger, now });
  return {
    ...{ signIns, vault, url, state, lines, counted },
    later: (ms) => {
      ahead += ms;
    },
    poll: () => poll(),
  };
}
