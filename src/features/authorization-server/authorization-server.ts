/**
 * The authorization server for hosts, in front of the company's OpenID Connect issuer (`auth.signIn`): a host that only
 * has the gateway's URL can sign its person in.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { JWTVerifyGetKey } from "jose";
import type { SignInConfig } from "../../config/auth-config.js";
import type { Principal } from "../../core/client.js";
import type { Logger } from "../../core/logger.js";
import { type ClientAddress, networkOf, peerOf } from "../../http/client-address.js";
import { RateLimit } from "../../http/rate-limit.js";
import type { GuardedFetch } from "../../outgoing/guarded-fetch.js";
import type { JsonObject } from "../../wire/json.js";
import { VaultError, type VaultFault } from "../vault/vault-error.js";
import { sendJson, sendOAuthError, sendPage } from "./answers.js";
import { Authorize } from "./authorize.js";
import { ClientDocuments, type FetchDocument } from "./client-documents.js";
import { Clients } from "./clients.js";
import { Grants } from "./grants.js";
import { IssuerLogin } from "./issuer-login.js";
import { OAuthError } from "./oauth-error.js";
import { errorPage } from "./pages.js";
import { type AuthorizationServerEndpoint, ENDPOINT_PATHS, SERVER_METADATA_PATH } from "./paths.js";
import { BrowserSessions } from "./person-sessions.js";
import { register } from "./registration.js";
import { SigningKeys } from "./signing-keys.js";
import { TokenEndpoint } from "./token-endpoint.js";
import type { GrantStore, HostSignIn, LeftOut, Now } from "./types.js";

/** Dependencies of the authorization server. */
export interface AuthorizationServerOptions {
  readonly signIn: SignInConfig;
  /** The issuer identifier: the URL of the gateway for browsers, without a trailing slash. */
  readonly issuer: string;
  /** The URL of the MCP endpoint, the audience of the tokens. */
  readonly resource: string;
  readonly requiredScopes: readonly string[];
  /** Whether no person may have this id: see `reservedIn`. */
  readonly isReserved: (id: string) => boolean;
  readonly store: GrantStore;
  /** The fetch to the company's issuer. */
  readonly fetch: GuardedFetch;
  readonly fetchDocument: FetchDocument;
  readonly logger: Logger;
  /** Receives sign-in events; at most 120 refusals per minute. Default: they are only logged. */
  readonly onSignIn?: (event: HostSignIn) => void;
  /** Whether each process behind the URL of the gateway has the same store. Default: yes. */
  readonly isShared?: boolean;
  /** Default: the address of the connection. */
  readonly addressOf?: ClientAddress;
  /** Default: the clock. */
  readonly now?: Now;
}

/** Serves the endpoints, and verifies the gateway's own access tokens. */
export interface AuthorizationServer {
  /** Responds to a request whose headers were checked; never rejects. */
  serve(
    endpoint: AuthorizationServerEndpoint,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void>;
  /** The public key of an access token. */
  readonly keyOf: JWTVerifyGetKey;
  /** The person whose browser has sent the request. @throws Error of the store */
  personOf(request: IncomingMessage): Promise<Principal | undefined>;
  /** Responds: begins a login for the page at `path`. Never rejects. */
  beginPage(request: IncomingMessage, response: ServerResponse, path: string): Promise<void>;
  /** The response takes the cookie of the session. @throws Error of the store */
  endSession(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** Per minute. */
const LIMITS = {
  /** Refused requests of one network, by endpoint. Requests that succeed are not counted. */
  register: { perKey: 20 },
  token: { perKey: 300 },
  /** Documents that no person has consented to yet. */
  documents: { perKey: 20, total: 120 },
  /** Uses of the codes and refresh tokens of one sign-in. */
  grant: { perKey: 60 },
  refusals: { perKey: 120 },
  /** Log lines about redirect URIs that are left out. */
  leftOut: { perKey: 20 },
} as const;

/** Temporary errors of the vault: a full disk, an unavailable store. */
const PASSING: readonly VaultFault[] = ["disk", "store", "locked"];

const RETRY_S = 5;

/** Reasons of left out redirect URIs in one log line. */
const MAX_REASONS = 4;

const PAGES: readonly AuthorizationServerEndpoint[] = ["authorize", "callback"];

/** Creates the authorization server of one config. Nothing is read or fetched before the first request. */
export function createAuthorizationServer(options: AuthorizationServerOptions): AuthorizationServer {
  const { logger, now = Date.now, addressOf = peerOf } = options;
  const networkOfRequest = (request: IncomingMessage): string => networkOf(addressOf(request));
  const keys = new SigningKeys(options.store, now);
  const sessions = sessionsOf(options, keys, now);
  const { endpoints, authorize } = endpointsOf(options, { keys, now, networkOfRequest, sessions });
  const refused = new RefusedRequests(networkOfRequest, now);
  const answered = async (
    endpoint: AuthorizationServerEndpoint,
    request: IncomingMessage,
    response: ServerResponse,
    handle: () => unknown,
  ): Promise<void> => {
    try {
      await handle();
    } catch (error) {
      const refusal = error instanceof OAuthError ? error : failure(error, endpoint, logger);
      sendRefusal(refused.counted(refusal, endpoint, request), endpoint, response);
    }
  };
  return {
    keyOf: keys.keyOf,
    serve: (endpoint, request, response) =>
      answered(endpoint, request, response, () =>
        handlerOf(endpoints[endpoint], request, response)(request, response),
      ),
    personOf: (request) => sessions.of(request),
    beginPage: (request, response, path) =>
      answered("authorize", request, response, () => authorize.beginPage(response, path)),
    endSession: (request, response) => sessions.end(request, response),
  };
}

function sessionsOf(
  { store, issuer, signIn, resource, requiredScopes, isReserved }: AuthorizationServerOptions,
  keys: SigningKeys,
  now: Now,
): BrowserSessions {
  return new BrowserSessions({
    ...{ store, issuer, resource, isReserved, now },
    sealing: () => keys.sealing(),
    personIssuer: signIn.issuer,
    scopes: offeredScopesOf(signIn, requiredScopes),
    lifetimeMs: signIn.lifetimeMs,
  });
}

const offeredScopesOf = ({ hostScopes }: SignInConfig, required: readonly string[]): readonly string[] => [
  ...new Set([...required, ...hostScopes]),
];

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;
/** By method. */
type Handlers = Readonly<Record<string, Handler>>;
type Endpoints = Readonly<Record<AuthorizationServerEndpoint, Handlers>>;

/** What the endpoints share with the rest. */
interface EndpointParts {
  readonly keys: SigningKeys;
  readonly now: Now;
  readonly sessions: BrowserSessions;
  /** The network of the client, for limits. */
  readonly networkOfRequest: (request: IncomingMessage) => string;
}

const limitOf = (which: keyof typeof LIMITS, now: Now): RateLimit => new RateLimit({ ...LIMITS[which], now });

function endpointsOf(
  options: AuthorizationServerOptions,
  { keys, now, networkOfRequest, sessions }: EndpointParts,
): { readonly endpoints: Endpoints; readonly authorize: Authorize } {
  const { signIn, issuer, resource, requiredScopes, store, logger } = options;
  const allowed = { hosts: signIn.allowedRedirectHosts, schemes: signIn.redirectSchemes };
  const offeredScopes = offeredScopesOf(signIn, requiredScopes);
  const sealing = () => keys.sealing();
  const onLeftOut = leftOutLog(logger, now);
  const onSignIn = limitedSignIns(options.onSignIn, now);
  const documents = new ClientDocuments({
    ...{ fetch: options.fetchDocument, allowed, now, onLeftOut },
    limit: limitOf("documents", now),
  });
  const clients = new Clients({ documents, sealing, allowed, now });
  const grants = new Grants({
    ...{ store, sealing, now, logger, onSignIn },
    personIssuer: signIn.issuer,
    lifetimeMs: signIn.lifetimeMs,
    limit: limitOf("grant", now),
  });
  const { fetch, isReserved } = options;
  const login = new IssuerLogin({ signIn, fetch, isReserved, now, logger });
  const authorize = new Authorize({
    ...{ clients, grants, login, sessions, sealing, issuer, allowed, now, logger, onSignIn },
    networkOf: networkOfRequest,
    isShared: options.isShared ?? true,
    companyIssuer: signIn.issuer,
    offer: { resource, requiredScopes, offeredScopes },
  });
  const { accessTokenMs } = signIn;
  const tokens = new TokenEndpoint({
    ...{ clients, grants, keys, issuer, resource, accessTokenMs, now, logger, onSignIn },
  });
  const endpoints: Endpoints = {
    metadata: { GET: (request, response) => sendMetadata(request, response, issuer, offeredScopes) },
    jwks: { GET: async (_, response) => sendJson(response, 200, await keys.jwks()) },
    register: { POST: (q, r) => register(q, r, { sealing, allowed, now, onLeftOut }) },
    authorize: { GET: (q, r) => authorize.ask(q, r), POST: (q, r) => authorize.decide(q, r) },
    callback: { GET: (q, r) => authorize.finish(q, r) },
    token: { POST: (q, r) => tokens.token(q, r) },
    revoke: { POST: (q, r) => tokens.revoke(q, r) },
  };
  return { endpoints, authorize };
}

/** Logs redirect URIs that are left out. Strangers can cause any number of these lines, so they are limited. */
function leftOutLog(logger: Logger, now: Now): LeftOut {
  const lines = limitOf("leftOut", now);
  return (client, reasons) => {
    if (lines.take("") !== undefined) return;
    logger.info(
      { client, reasons: reasons.slice(0, MAX_REASONS) },
      `redirect URIs of "${client}" are left out: each ${reasons[0]}`,
    );
  };
}

/** Unauthenticated clients can cause unlimited refusals, which must not push older events out of a rotating log. */
function limitedSignIns(
  onSignIn: AuthorizationServerOptions["onSignIn"],
  now: Now,
): (event: HostSignIn) => void {
  const refusals = limitOf("refusals", now);
  return (event) => {
    if (event.outcome !== "refused" || refusals.take("") === undefined) onSignIn?.(event);
  };
}

/** The handler of the method; of HEAD that of GET. @throws OAuthError if the endpoint has none */
function handlerOf(handlers: Handlers, request: IncomingMessage, response: ServerResponse): Handler {
  const method = request.method === "HEAD" ? "GET" : (request.method ?? "");
  const handler = Object.hasOwn(handlers, method) ? handlers[method] : undefined;
  if (handler !== undefined) return handler;
  response.setHeader("allow", Object.keys(handlers).join(", "));
  throw new OAuthError("invalid_request", `${method} is not possible here`, { status: 405 });
}

function sendRefusal(
  refusal: OAuthError,
  endpoint: AuthorizationServerEndpoint,
  response: ServerResponse,
): void {
  if (response.headersSent) response.destroy();
  else if (PAGES.includes(endpoint)) sendPage(response, refusal.status, errorPage(`${refusal.message}.`));
  else sendOAuthError(response, refusal);
}

/** The refusals of each network. */
class RefusedRequests {
  readonly #networkOf: EndpointParts["networkOfRequest"];
  readonly #limits: Readonly<Partial<Record<AuthorizationServerEndpoint, RateLimit>>>;

  constructor(networkOfRequest: EndpointParts["networkOfRequest"], now: Now) {
    this.#networkOf = networkOfRequest;
    this.#limits = {
      register: limitOf("register", now),
      token: limitOf("token", now),
      revoke: limitOf("token", now),
    };
  }

  /** Counts a refusal; those above the limit say when to try again, and nothing of the reason. */
  counted(refusal: OAuthError, endpoint: AuthorizationServerEndpoint, request: IncomingMessage): OAuthError {
    const isOurs = refusal.status >= 500 || refusal.status === 429 || refusal.details.isOfGrant === true;
    const retryAfterS = isOurs ? undefined : this.#limits[endpoint]?.take(this.#networkOf(request));
    return retryAfterS === undefined ? refusal : tooMany(retryAfterS, refusal);
  }
}

/**
 * Hosts and persons are asked to retry, and the log has the reason. After `temporarily_unavailable` SDK clients keep
 * their tokens; after `server_error` they start a new sign-in.
 */
function failure(error: unknown, endpoint: AuthorizationServerEndpoint, logger: Logger): OAuthError {
  const passes = error instanceof VaultError && PASSING.includes(error.fault);
  logger.error({ error, endpoint }, "a sign-in of a host has failed on the side of the gateway");
  return new OAuthError(
    passes ? "temporarily_unavailable" : "server_error",
    "the gateway cannot do this now; try again later",
    { status: passes ? 503 : 500, ...(passes && { retryAfterS: RETRY_S }), cause: error },
  );
}

const tooMany = (retryAfterS: number, cause: unknown): OAuthError =>
  new OAuthError("temporarily_unavailable", "too many refused requests from one address; try again later", {
    ...{ status: 429, retryAfterS, cause },
  });

/** @throws OAuthError for the path of another issuer */
function sendMetadata(
  { url = "" }: IncomingMessage,
  response: ServerResponse,
  issuer: string,
  scopes: readonly string[],
): void {
  const [path = ""] = url.split("?", 1);
  if (!isMetadataPath(path, issuer))
    throw new OAuthError("invalid_request", "this authorization server has another issuer", { status: 404 });
  sendJson(response, 200, serverMetadata(issuer, scopes));
}

/** The document. `issuer` has no trailing slash. */
function serverMetadata(issuer: string, scopes: readonly string[]): JsonObject {
  return {
    issuer,
    authorization_endpoint: `${issuer}${ENDPOINT_PATHS.authorize}`,
    token_endpoint: `${issuer}${ENDPOINT_PATHS.token}`,
    registration_endpoint: `${issuer}${ENDPOINT_PATHS.register}`,
    revocation_endpoint: `${issuer}${ENDPOINT_PATHS.revoke}`,
    jwks_uri: `${issuer}${ENDPOINT_PATHS.jwks}`,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    code_challenge_methods_supported: ["S256"],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
    ...(scopes.length > 0 && { scopes_supported: scopes }),
  };
}

/** Whether `path` is the metadata path of `issuer`: the well-known path, followed by the issuer's own. */
function isMetadataPath(path: string, issuer: string): boolean {
  const own = new URL(issuer).pathname.replace(/\/$/, "");
  return [SERVER_METADATA_PATH, `${SERVER_METADATA_PATH}${own}`].includes(path.replace(/\/$/, ""));
}
