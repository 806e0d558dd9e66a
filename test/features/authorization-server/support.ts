/** An authorization server with its company issuer, and a person's browser in front of both. */

import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { SignInConfig } from "../../../src/config/auth-config.js";
import { SILENT } from "../../../src/core/logger.js";
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  createAuthorizationServer,
} from "../../../src/features/authorization-server/authorization-server.js";
import { MemoryStore } from "../../../src/features/authorization-server/memory-store.js";
import {
  type AuthorizationServerEndpoint,
  ENDPOINT_PATHS,
} from "../../../src/features/authorization-server/paths.js";
import { guardedFetch } from "../../../src/outgoing/guarded-fetch.js";
import { reservedIn } from "../../../src/wire/reserved-ids.js";
import { authorizeAs } from "../../support/sign-in/person.mjs";
import { type RealIssuer, startRealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { freePort } from "../../support/told-port.js";

export const REDIRECT = "http://127.0.0.1:4711/callback";
const SECRET = "the secret of the gateway";

/** A clock that is suspended until a test moves it. */
export class Clock {
  #ms = Date.now();
  readonly now = (): number => this.#ms;
  pass(ms: number): void {
    this.#ms += ms;
  }
}

export interface World {
  /** The identifier of the authorization server. */
  readonly url: string;
  readonly resource: string;
  readonly company: Pick<RealIssuer, "issuer">;
  readonly clock: Clock;
  readonly server: AuthorizationServer;
  readonly lines: string[];
}

interface WorldOptions extends Partial<Omit<AuthorizationServerOptions, "signIn">> {
  readonly signIn?: Partial<SignInConfig>;
  /** Default: an issuer that accepts no person. */
  readonly company?: (callback: string) => Promise<Pick<RealIssuer, "issuer">>;
}

/** The settings of the gateway at `issuer`. */
export const signInOf = (issuer: string, more: Partial<SignInConfig> = {}): SignInConfig => ({
  issuer,
  clientId: "cardea",
  clientSecret: SECRET,
  scopes: ["openid"],
  groupsClaim: "groups",
  hostScopes: ["db:read", "db:write"],
  allowHosts: [],
  redirectSchemes: [],
  accessTokenMs: 600_000,
  lifetimeMs: 86_400_000,
  ...more,
});

/** A real OpenID Connect provider at which the gateway is registered; ends with the test. */
export async function realCompany(callback: string): Promise<RealIssuer> {
  const company = await startRealIssuer({ clients: [companyClient(callback)] });
  onTestFinished(() => company.close());
  return company;
}

/** The registration of the gateway at its company's issuer. */
const companyClient = (callback: string) => ({
  client_id: "cardea",
  client_secret: SECRET,
  redirect_uris: [callback],
  grant_types: ["authorization_code"],
  token_endpoint_auth_method: "client_secret_basic",
});

/** An authorization server behind a socket, until the test is over. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const clock = new Clock();
  const lines: string[] = [];
  const log = (fields: object, sentence: string) => lines.push(`${sentence} ${JSON.stringify(fields)}`);
  let serve: AuthorizationServer["serve"] | undefined;
  const http = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const found = Object.entries(ENDPOINT_PATHS).find(([, each]) => each === path)?.[0] ?? "metadata";
    serve?.(found as AuthorizationServerEndpoint, request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((listening) => http.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    http.closeAllConnections();
    return new Promise<void>((closed) => http.close(() => closed()));
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const company = (await options.company?.(`${url}${ENDPOINT_PATHS.callback}`)) ?? {
    issuer: `http://127.0.0.1:${await freePort()}`,
  };
  const server = createAuthorizationServer({
    issuer: url,
    resource: `${url}/mcp`,
    requiredScopes: [],
    isReserved: reservedIn([{ id: "ci" }]),
    store: new MemoryStore(clock.now),
    fetch: guardedFetch({ serverUrl: company.issuer }),
    fetchDocument: () => Promise.reject(new Error("there are no documents")),
    logger: { ...SILENT, info: log, warn: log, error: log },
    now: clock.now,
    ...options,
    signIn: signInOf(company.issuer, options.signIn),
  });
  serve = server.serve;
  return { url, resource: `${url}/mcp`, company, clock, server, lines };
}

/** A verifier of PKCE, and its challenge. */
export function pkce(): { readonly verifier: string; readonly challenge: string } {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

/** The answer of a form or JSON endpoint. */
export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Headers;
}

async function answerOf(response: Response): Promise<Answer> {
  const body = (await response.json()) as Answer["body"];
  return { status: response.status, body, headers: response.headers };
}

/** Sends a form. */
export const postForm = async (url: string, form: Readonly<Record<string, string>>): Promise<Answer> =>
  answerOf(await fetch(url, { method: "POST", body: new URLSearchParams(form) }));

/** Registers a host. */
export const registerHost = async (world: Pick<World, "url">, metadata: object = {}): Promise<Answer> =>
  answerOf(
    await fetch(`${world.url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_name: "Test host", redirect_uris: [REDIRECT], ...metadata }),
    }),
  );

/** The `client_id` of a host that has registered. */
export async function hostId(world: Pick<World, "url">, metadata: object = {}): Promise<string> {
  const { body } = await registerHost(world, metadata);
  if (typeof body.client_id !== "string") throw new Error(`not registered: ${JSON.stringify(body)}`);
  return body.client_id;
}

/** The URL that a host opens in the browser; undefined takes a parameter away. */
export function authorizeUrl(
  world: Pick<World, "url" | "resource">,
  parameters: Readonly<Record<string, string | undefined>> & { readonly client_id: string },
): string {
  const url = new URL(`${world.url}/oauth/authorize`);
  const all = {
    response_type: "code",
    redirect_uri: REDIRECT,
    code_challenge: pkce().challenge,
    code_challenge_method: "S256",
    resource: world.resource,
    state: "state of the host",
    ...parameters,
  };
  for (const [name, value] of Object.entries(all)) if (value !== undefined) url.searchParams.set(name, value);
  return url.href;
}

/** What a browser has got. */
export interface Page {
  readonly status: number;
  readonly location: string | undefined;
  readonly text: string;
  readonly headers: Headers;
}

/** A person's browser: it keeps the cookies of the gateway, and follows nothing by itself. */
export class Browser {
  readonly cookies = new Map<string, string>();

  async open(url: string, init: RequestInit = {}): Promise<Page> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      redirect: "manual",
      ...init,
      headers: { ...(cookie !== "" && { cookie }), ...(init.headers as Record<string, string>) },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const location = response.headers.get("location") ?? undefined;
    return { status: response.status, location, text: await response.text(), headers: response.headers };
  }

  /** Presses a button of a consent page. */
  decide(
    page: Page,
    decision: "allow" | "deny",
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Page> {
    const action = /<form method="post" action="([^"]+)"/.exec(page.text)?.[1];
    const sealed = /name="request" value="([^"]+)"/.exec(page.text)?.[1];
    if (action === undefined || sealed === undefined) throw new Error(`no consent page: ${page.text}`);
    const body = new URLSearchParams({ request: sealed, decision });
    return this.open(action, {
      method: "POST",
      body,
      headers: { origin: new URL(action).origin, ...headers },
    });
  }

  /** Consents, signs in at the company's issuer, and comes back: the last answer leads to the host. */
  async signIn(url: string, person: string): Promise<Page> {
    const allowed = await this.decide(await this.open(url), "allow");
    if (allowed.location === undefined) throw new Error(`no login: ${allowed.status} ${allowed.text}`);
    return this.open(await authorizeAs(allowed.location, person));
  }
}

/** The parameters with which a browser is sent to the host. */
export const answerIn = ({ location = "" }: Page): Readonly<Record<string, string>> =>
  Object.fromEntries(new URL(location).searchParams);

/** A host with the code of a person, and what redeems it. */
export async function codeOf(world: Pick<World, "url" | "resource">, person = "alice", client?: string) {
  const { verifier, challenge } = pkce();
  const id = client ?? (await hostId(world));
  const page = await new Browser().signIn(
    authorizeUrl(world, { client_id: id, code_challenge: challenge }),
    person,
  );
  const { code = "" } = answerIn(page);
  return {
    grant_type: "authorization_code",
    ...{ client_id: id, code, redirect_uri: REDIRECT, code_verifier: verifier, resource: world.resource },
  };
}

/** Sends a token request. */
export const tokenRequest = (
  world: Pick<World, "url">,
  form: Readonly<Record<string, string>>,
): Promise<Answer> => postForm(`${world.url}/oauth/token`, form);

/** The tokens of a host in which a person has signed in. */
export async function tokensOf(world: Pick<World, "url" | "resource">, person = "alice") {
  const form = await codeOf(world, person);
  const { status, body } = await tokenRequest(world, form);
  if (status !== 200) throw new Error(`no tokens: ${JSON.stringify(body)}`);
  return {
    client_id: form.client_id,
    access_token: String(body.access_token),
    refresh_token: String(body.refresh_token),
    body,
  };
}
