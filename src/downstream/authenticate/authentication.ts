/** Which principal sends an HTTP request? Its credentials become a principal, or a refusal with a challenge. */

import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { JWTVerifyGetKey } from "jose";
import { LRUCache } from "lru-cache";
import type { AuthConfig, KeyConfig } from "../../config/auth-config.js";
import { ANONYMOUS, type Principal } from "../../core/client.js";
import { badRequest } from "../../core/errors.js";
import { type Logger, SILENT } from "../../core/logger.js";
import { principalKey, principalOf } from "../../core/principal.js";
import { type AddressedRequest, type ClientAddress, peerOf } from "../../http/client-address.js";
import { endpointAt } from "../../http/resources.js";
import type { JsonObject } from "../../wire/json.js";
import { OWNER_IDS, reservedIn } from "../../wire/reserved-ids.js";
import { RefusalLog } from "./refusal-log.js";
import {
  AuthError,
  type AuthFailure,
  type ChallengeParameters,
  challenge,
  metadataUrlOf,
  refusal,
  resourceMetadata,
} from "./refusals.js";
import type { CheckedToken } from "./tokens.js";

/** Authenticates HTTP requests by API key or token (RFC 6750). */
export interface Authentication {
  /** False where all requests share the anonymous principal, which is allowed on loopback only. */
  readonly isRequired: boolean;
  /**
   * Reads the credentials of one request from its headers, before the body is read.
   *
   * @param place what follows the URL of the gateway in that of the request (`placeIn`). Default: the whole gateway
   * @throws GatewayError `unauthenticated`, `forbidden` or `bad_request`
   */
  authenticate(request: AuthenticatedRequest, place?: string): Principal | Promise<Principal>;
  /** The metadata of the protected resource at `place` (RFC 9728); undefined where tokens are not accepted. */
  metadata(place?: string): JsonObject | undefined;
  /** The `WWW-Authenticate` of a response to a token that lacks these scopes, at `place`. */
  readonly challenge: (scopes: readonly string[], place?: string) => string;
}

/** What of a request is read: its headers, and for the log the address it came from. */
type AuthenticatedRequest = AddressedRequest;

/** Accepts every request as the anonymous principal. */
export const NO_AUTHENTICATION: Authentication = {
  isRequired: false,
  authenticate: () => ANONYMOUS,
  metadata: () => undefined,
  challenge: (scopes) => challenge({ scopes }),
};

/** What `createAuthentication` needs besides the config. */
export interface AuthenticationOptions {
  /** The URL the gateway listens at, used where the config names none; called once it listens. */
  readonly url: () => string;
  readonly logger?: Logger;
  readonly onFailure?: (reason: AuthFailure) => void;
  /** A token of this principal was verified. */
  readonly onToken?: (principal: Principal) => void;
  /** Default: the address of the connection. */
  readonly addressOf?: ClientAddress;
  /** The gateway's own authorization server, where `auth.signIn` makes it one. */
  readonly authorizationServer?: TokenIssuer;
  /** Verifies a token. Default: against the issuer's keys, fetched on demand. */
  readonly checkToken?: (text: string) => Promise<CheckedToken>;
}

/** An authorization server in this process. */
export interface TokenIssuer {
  /** Its identifier, the `iss` of its tokens; called once the gateway listens. */
  issuer(): string;
  /** The key of one of its tokens. */
  readonly keyOf: JWTVerifyGetKey;
}

/** A verified token is cached this long, in ms: its issuer may have withdrawn the key. */
const CACHE_TTL_MS = 5 * 60_000;
/** Limits of the cache: entries, and characters of credentials. */
const CACHE_LIMITS = { max: 10_000, maxSize: 16 * 1024 * 1024 };

interface CachedPrincipal {
  readonly principal: Principal;
  /** Of a token for some endpoints only. */
  readonly endpoints: readonly string[] | undefined;
  /** Milliseconds since 1970. */
  readonly until: number;
  readonly size: number;
}

/** Authenticates by the API keys and the token issuer of the config. */
export const createAuthentication = (config: AuthConfig, options: AuthenticationOptions): Authentication =>
  new CredentialCheck(config, options);

class CredentialCheck implements Authentication {
  readonly isRequired = true;
  readonly challenge: Authentication["challenge"];
  readonly #config: AuthConfig;
  readonly #options: AuthenticationOptions;
  readonly #addressOf: ClientAddress;
  readonly #acceptsTokens: boolean;
  readonly #keys: ApiKeys;
  readonly #verify: (text: string) => Promise<CheckedToken>;
  readonly #cache = new LRUCache<string, CachedPrincipal>({
    ...CACHE_LIMITS,
    sizeCalculation: ({ size }) => size,
  });
  /** Makes the cache keys unpredictable for clients. */
  readonly #salt = randomBytes(32).toString("base64");
  readonly #refusals: RefusalLog;

  constructor(config: AuthConfig, options: AuthenticationOptions) {
    this.#config = config;
    this.#options = options;
    this.#addressOf = options.addressOf ?? peerOf;
    this.#acceptsTokens = config.jwt !== undefined || options.authorizationServer !== undefined;
    this.#keys = new ApiKeys(config.keys);
    this.#verify = options.checkToken ?? lazyTokenVerifier(config, options);
    this.#refusals = new RefusalLog(options.logger ?? SILENT);
    this.challenge = (scopes, place = "") =>
      challenge(this.#challengeParameters(scopes, place), "insufficient_scope");
  }

  authenticate(request: AuthenticatedRequest, place = ""): Principal | Promise<Principal> {
    const credential = credentialOf(request);
    if (credential === undefined)
      throw this.#refused(missingCredentials(this.#acceptsTokens), this.#addressOf(request), place);
    const name = hash("sha256", `${this.#salt}${credential.kind}${credential.text}`, "base64");
    const known = this.#cache.get(name);
    if (known !== undefined && known.until > Date.now()) {
      if (known.endpoints === undefined || isFor(known.endpoints, place)) return known.principal;
      throw this.#refused(elsewhere(), this.#addressOf(request), place);
    }
    const address = this.#addressOf(request);
    if (credential.kind === "token" && this.#acceptsTokens)
      return this.#authenticateToken(credential.text, name, address, place);
    const { principal, expiresAt } = this.#authenticateKey(credential, address, place);
    const size = credential.text.length;
    return this.#cachePrincipal(name, { principal, endpoints: undefined, until: expiresAt, size });
  }

  metadata(place = ""): JsonObject | undefined {
    const { authorizationServer } = this.#options;
    const issuers = [authorizationServer?.issuer(), this.#config.jwt?.issuer];
    const known = issuers.filter((each) => each !== undefined);
    return this.#acceptsTokens ? resourceMetadata(this.#config, known, this.#resource, place) : undefined;
  }

  get #resource(): string {
    return this.#config.resource ?? this.#options.url();
  }

  #authenticateKey({ text }: Credential, address: string | undefined, place: string): KnownKey {
    const found = this.#keys.find(hash("sha256", text, "buffer"));
    if (found === undefined)
      throw this.#refused(new AuthError("unknown_key", "this key is not known here"), address, place);
    if (found.expiresAt <= Date.now())
      throw this.#refused(new AuthError("expired", "this key has expired"), address, place);
    return found;
  }

  async #authenticateToken(
    text: string,
    name: string,
    address: string | undefined,
    place: string,
  ): Promise<Principal> {
    try {
      const { principal, expiresAt, endpoints } = await this.#verify(text);
      this.#options.onToken?.(principal);
      const until = Math.min(expiresAt, Date.now() + CACHE_TTL_MS);
      const cached = this.#cachePrincipal(name, { principal, endpoints, until, size: text.length });
      if (endpoints !== undefined && !isFor(endpoints, place)) throw elsewhere();
      return cached;
    } catch (error) {
      throw error instanceof AuthError ? this.#refused(error, address, place) : error;
    }
  }

  /** The same credential yields the same object, so that WeakMaps can be keyed by it. */
  #cachePrincipal(name: string, entry: CachedPrincipal): Principal {
    const before = this.#cache.get(name);
    if (before !== undefined && before.until > Date.now()) return before.principal;
    this.#cache.set(name, entry);
    return entry.principal;
  }

  #refused(error: AuthError, address: string | undefined, place: string): ReturnType<typeof refusal> {
    this.#options.onFailure?.(error.reason);
    this.#refusals.add(error.reason, address, error.cause);
    return refusal(error, this.#challengeParameters([], place));
  }

  /** What a token needs for an operation with `scopes` at `place`. */
  #challengeParameters(scopes: readonly string[], place: string): ChallengeParameters {
    const all = [...new Set([...this.#config.requiredScopes, ...scopes])];
    return this.#acceptsTokens
      ? { metadataUrl: metadataUrlOf(this.#resource, place), scopes: all }
      : { scopes: [] };
  }
}

/** Whether a token for `endpoints` is good at `place`. */
function isFor(endpoints: readonly string[], place: string): boolean {
  const endpoint = endpointAt(place);
  return endpoint !== undefined && endpoints.includes(endpoint);
}

const elsewhere = (): AuthError =>
  new AuthError("audience", "the token is meant for another endpoint of this gateway");

/** Loads jose and the fetch with the first token; a gateway with API keys only never loads them. */
function lazyTokenVerifier(
  { jwt, keys, signIn, requiredScopes, resource }: AuthConfig,
  { url, logger = SILENT, authorizationServer }: AuthenticationOptions,
) {
  const isReserved = reservedIn(keys);
  let verifier: Promise<(text: string) => Promise<CheckedToken>> | undefined;
  const start = async () => {
    const [{ checkToken, isOf, ownKeys }, { issuerKeys, fetchJson }] = await Promise.all([
      import("./tokens.js"),
      import("./issuer-keys.js"),
    ]);
    const shared = { requiredScopes, isReserved };
    const own = authorizationServer && {
      ...shared,
      jwt: { issuer: authorizationServer.issuer(), algorithms: ["ES256"], groupsClaim: "groups" },
      personIssuer: signIn?.issuer ?? authorizationServer.issuer(),
      audience: [],
      resource: resource ?? url(),
      keyOf: ownKeys(authorizationServer.keyOf),
    };
    const company = jwt && {
      ...shared,
      jwt,
      personIssuer: jwt.issuer,
      audience: jwt.audience,
      ...(jwt.audience.length === 0 && { resource: resource ?? url() }),
      keyOf: issuerKeys({ jwt, fetch: fetchJson, logger }),
    };
    return (text: string): Promise<CheckedToken> => {
      const settings =
        own !== undefined && (company === undefined || isOf(own.jwt.issuer, text)) ? own : company;
      if (settings === undefined) throw new TypeError("neither auth.jwt nor auth.signIn is configured");
      return checkToken(text, settings);
    };
  };
  return async (text: string): Promise<CheckedToken> => {
    verifier ??= start();
    return (await verifier)(text);
  };
}

function missingCredentials(acceptsTokens: boolean): AuthError {
  const what = acceptsTokens ? "a token" : "an API key";
  return new AuthError("missing", `this needs ${what}: send Authorization: Bearer …`);
}

interface Credential {
  /** A token is a signed JWT (RFC 7519); any other text can only be a key. */
  readonly kind: "key" | "token";
  readonly text: string;
}

/** Three parts in base64url: header, claims and signature (RFC 7515, 7.1); that of `alg: none` has no third. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/;
/** RFC 6750, 2.1; an API key may have characters that a token cannot. */
const BEARER = /^bearer +([!-~]+) *$/i;

/**
 * The credential in `Authorization: Bearer` or `X-API-Key`; undefined without one. The query is not read, because it
 * ends up in logs, nor are cookies, because a browser sends them for any page (CSRF).
 *
 * @throws GatewayError `bad_request` with both headers: a proxy in front may have checked the other one
 */
function credentialOf({ headers }: Pick<IncomingMessage, "headers">): Credential | undefined {
  const { authorization } = headers;
  const apiKey = headers["x-api-key"];
  if (authorization === undefined) {
    return typeof apiKey === "string" && apiKey !== "" ? { kind: "key", text: apiKey } : undefined;
  }
  if (apiKey !== undefined) {
    throw badRequest("credentials in two headers (Authorization, X-API-Key): send one");
  }
  const text = BEARER.exec(authorization)?.[1];
  return text === undefined ? undefined : { kind: TOKEN.test(text) ? "token" : "key", text };
}

interface KnownKey {
  readonly principal: Principal;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * The principal that the config, an operator or the environment calls `id`: the owner of a key of that id, with the groups
 * of all its keys; else the person whom the issuer of tokens calls so; else a user of this machine.
 */
export function principalNamed(id: string, auth: AuthConfig | undefined): Principal {
  if (id === ANONYMOUS.id) return ANONYMOUS;
  const own = (auth?.keys ?? []).filter((key) => key.id === id);
  const groups = [...new Set(own.flatMap((key) => key.groups))];
  if (own.length > 0) return principalOf("key", id, { groups });
  const issuer = auth?.signIn?.issuer ?? auth?.jwt?.issuer;
  return principalOf(issuer === undefined ? "local" : { issuer }, id);
}

/** The key of the credentials that an operator calls `as`: a principal's, or those of no principal. */
export const ownerNamed = (as: string, auth: AuthConfig | undefined): string =>
  OWNER_IDS.has(as) ? as : principalKey(principalNamed(as, auth));

/**
 * The API keys, stored as plain SHA-256. A slow hash protects short passwords; a key of 256 random bits cannot be
 * guessed at any speed, and is checked on every request.
 */
class ApiKeys {
  readonly #keys: readonly (KnownKey & { readonly digest: Buffer })[];

  constructor(keys: readonly KeyConfig[]) {
    this.#keys = keys.map(({ id, digest, groups, expiresAt = Number.POSITIVE_INFINITY }) => ({
      digest: Buffer.from(digest, "hex"),
      principal: principalOf("key", id, { groups }),
      expiresAt,
    }));
  }

  /** The key whose SHA-256 is `digest`. All keys are compared, so the time does not depend on the result. */
  find(digest: Buffer): KnownKey | undefined {
    let found: KnownKey | undefined;
    for (const key of this.#keys) if (timingSafeEqual(key.digest, digest)) found = key;
    return found;
  }
}
