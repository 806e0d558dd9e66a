/** An MCP server and its authorization server in one process, of which each step can be made to misbehave. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { authorizationServer } from "./adversarial-grants.js";
import { answerMcp } from "./adversarial-mcp.js";

/** A request as it came. */
export interface Seen {
  readonly step: Step;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** The body as a form; empty where it is none. */
  readonly form: URLSearchParams;
}

/** What can be made to misbehave. `prm` is the protected resource metadata (RFC 9728), `oauth` and `oidc` that of the authorization server. */
export type Step =
  | "mcp"
  | "prm-path"
  | "prm-root"
  | "prm-named"
  | "oauth"
  | "oidc"
  | "oidc-appended"
  | "register"
  | "authorize"
  | "token"
  | "device"
  | "revoke"
  | "other";

/** Answers in place of the step; `seen` is the request. */
export type Behaviour = (response: ServerResponse, seen: Seen) => void;

export interface AdversarialServer {
  readonly origin: string;
  /** What stands in the config as `url`. */
  readonly mcpUrl: string;
  /** Where the metadata of the authorization server is published. */
  readonly issuer: string;
  /** Every request, in order. */
  readonly seen: readonly Seen[];
  /** The steps that were asked for, in order. */
  steps(): readonly Step[];
  /** Makes a step misbehave, always or as often as `times` says; undefined makes it behave again. */
  set(step: Step, behaviour: Behaviour | undefined, times?: number): void;
  /** Members to add to the documents, or with undefined to take away. */
  readonly resourceMetadata: Record<string, unknown>;
  readonly metadata: Record<string, unknown>;
  /** Members to add to each token answer, or to take away. */
  readonly tokenAnswer: Record<string, unknown>;
  /** The parameters of `WWW-Authenticate: Bearer`; undefined: there is no such header. */
  challenge: Readonly<Record<string, string>> | undefined;
  /** `iss` of the authorization response; undefined: none. Default: the issuer. */
  iss: string | undefined;
  /** The scopes that a call of the tool `admin_only` needs. */
  adminScope: string;
  /** The tokens that are good now, with their scopes. */
  readonly accessTokens: Map<string, string>;
  readonly refreshTokens: Map<string, { readonly scope: string; spent: boolean }>;
  /** Dynamic registrations, by client id: the metadata that was sent, and the answer. Delete one to have it forgotten. */
  readonly clients: Map<string, { readonly [member: string]: unknown }>;
  /** How many tool calls were run. */
  calls(): number;
  /** Plays the browser: follows the authorization URL and returns the callback URL, which it does not open. */
  authorize(url: string): Promise<string>;
  /** Approves the device with this `user_code`. */
  approve(userCode: string): void;
}

export interface AdversarialOptions {
  /** The path of the issuer, such as `/tenant`. Default: none. */
  readonly issuerPath?: string;
  /** Default: `/mcp`. */
  readonly mcpPath?: string;
}

/** Listens on loopback until the test is over. */
export async function adversarialServer(options: AdversarialOptions = {}): Promise<AdversarialServer> {
  const { issuerPath = "", mcpPath = "/mcp" } = options;
  const seen: Seen[] = [];
  const behaviours = new Map<Step, { readonly behaviour: Behaviour; left: number }>();
  let calls = 0;
  const own = {
    origin: "",
    mcpUrl: "",
    issuer: "",
    seen,
    steps: () => seen.map(({ step }) => step),
    set(step: Step, behaviour: Behaviour | undefined, times = Number.POSITIVE_INFINITY) {
      if (behaviour === undefined) behaviours.delete(step);
      else behaviours.set(step, { behaviour, left: times });
    },
    resourceMetadata: {},
    metadata: {},
    tokenAnswer: {},
    challenge: undefined as AdversarialServer["challenge"],
    iss: undefined as string | undefined,
    adminScope: "admin",
    accessTokens: new Map<string, string>(),
    refreshTokens: new Map<string, { readonly scope: string; spent: boolean }>(),
    clients: new Map<string, { readonly [member: string]: unknown }>(),
    calls: () => calls,
    called: () => {
      calls += 1;
    },
    async authorize(url: string) {
      const answer = await fetch(url, { redirect: "manual" });
      const location = answer.headers.get("location");
      if (location === null) throw new Error(`${answer.status}: ${await answer.text()}`);
      return location;
    },
    approve: (_userCode: string): void => {},
  };
  const grants = authorizationServer(own);
  own.approve = grants.approve;

  const stepOf = (path: string): Step => {
    if (path === mcpPath) return "mcp";
    if (path === `/.well-known/oauth-protected-resource${mcpPath}`) return "prm-path";
    if (path === "/.well-known/oauth-protected-resource") return "prm-root";
    if (path === "/named-resource-metadata") return "prm-named";
    if (path === `/.well-known/oauth-authorization-server${issuerPath}`) return "oauth";
    if (path === `/.well-known/openid-configuration${issuerPath}`) return "oidc";
    if (path === `${issuerPath}/.well-known/openid-configuration`) return "oidc-appended";
    const last = path.slice(path.lastIndexOf("/") + 1);
    return ["register", "authorize", "token", "device", "revoke"].includes(last) ? (last as Step) : "other";
  };

  const resourceMetadata = () => ({
    resource: own.mcpUrl,
    authorization_servers: [own.issuer],
    scopes_supported: ["read"],
    ...own.resourceMetadata,
  });
  const metadata = () => ({
    issuer: own.issuer,
    authorization_endpoint: `${own.issuer}/authorize`,
    token_endpoint: `${own.issuer}/token`,
    registration_endpoint: `${own.issuer}/register`,
    device_authorization_endpoint: `${own.issuer}/device`,
    revocation_endpoint: `${own.issuer}/revoke`,
    response_types_supported: ["code"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    ...own.metadata,
  });

  function behave(response: ServerResponse, request: Seen) {
    const { step } = request;
    if (step === "mcp") return answerMcp(own, response, request);
    if (step === "other") return missing(response, request);
    if (step.startsWith("prm-")) return json(resourceMetadata())(response, request);
    if (step.startsWith("o")) return json(metadata())(response, request);
    return grants.answer(response, request);
  }

  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      const { pathname, searchParams } = new URL(request.url ?? "/", own.origin);
      const step = stepOf(pathname);
      const isForm = (request.headers["content-type"] ?? "").startsWith("application/x-www-form-urlencoded");
      const one: Seen = {
        step,
        method: request.method ?? "",
        path: pathname,
        query: searchParams,
        headers: request.headers,
        body,
        form: new URLSearchParams(isForm ? body : ""),
      };
      seen.push(one);
      const behaviour = behaviours.get(step);
      if (behaviour === undefined || behaviour.left <= 0) return behave(response, one);
      behaviour.left -= 1;
      behaviour.behaviour(response, one);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((closed) => server.close(() => closed()));
  });
  own.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  own.mcpUrl = `${own.origin}${mcpPath}`;
  own.issuer = `${own.origin}${issuerPath}`;
  own.iss = own.issuer;
  own.challenge = { resource_metadata: `${own.origin}/.well-known/oauth-protected-resource${mcpPath}` };
  return own;
}

/** Answers with a document. Members that are undefined are left out. */
export const json =
  (document: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Behaviour =>
  (response) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(document));

/** Answers with a status alone. */
export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Behaviour =>
  (response) =>
    void response.writeHead(code, headers).end();

/** There is nothing here. */
export const missing = status(404);

/** 200 with a page, as single-page applications answer every path. */
export const html: Behaviour = (response) =>
  void response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>App</title>");

/** A document of a megabyte, piece by piece. */
export const huge: Behaviour = (response) =>
  void response
    .writeHead(200, { "content-type": "application/json" })
    .end(`{"padding":"${"x".repeat(1024 * 1024)}"}`);

/** Never answers. */
export const silent: Behaviour = () => {};

/** Takes the request and closes the connection: the request may have been processed. */
export const hangUp: Behaviour = (response) => void response.destroy();

/** Sends half of an answer and closes the connection. */
export const halfAnswer: Behaviour = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "100" }).write('{"a":');
  setImmediate(() => response.destroy());
};

/** Redirects, also a POST. */
export const redirectTo = (location: string, code = 307): Behaviour => status(code, { location });

/** An OAuth error (RFC 6749, 5.2). */
export const oauthError = (error: string, description?: string, code = 400): Behaviour =>
  json({ error, error_description: description }, code);

/** Does what the step does, and loses the answer: what happened there is unknown here. */
export const loseAnswer =
  (server: AdversarialServer, step: "token" | "revoke"): Behaviour =>
  (response, seen) => {
    const sink = { writeHead: () => sink, end: () => response.destroy() } as unknown as ServerResponse;
    authorizationServer(server).answer(sink, { ...seen, step });
  };
