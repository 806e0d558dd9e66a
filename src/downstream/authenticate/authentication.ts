/** Who is calling: the credentials of an HTTP request become a principal, or a refusal that says what is missing. */
import { hash, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { LRUCache } from "lru-cache";
import type { AuthConfig } from "../../config/config.js";
import { ANONYMOUS, type Principal } from "../../core/client.js";
import { type Logger, SILENT } from "../../core/logger.js";
import type { JsonObject } from "../../wire/json.js";
import { ApiKeys } from "./api-keys.js";
import { type Credential, credentialOf } from "./credentials.js";
import { metadataUrlOf, resourceMetadata } from "./protected-resource.js";
import { AuthError, type AuthFailure, type ChallengeParameters, challenge, refusal } from "./refusals.js";
import type { CheckedToken } from "./tokens.js";

export interface Authentication {
  /** False where everybody is the same anonymous principal, which is for this machine alone. */
  readonly isRequired: boolean;
  /**
   * Reads the credentials of one request, before its body is read. It sees the headers and touches nothing else.
   *
   * @throws GatewayError `unauthenticated`, `forbidden` or `bad_request`
   */
  authenticate(request: Pick<IncomingMessage, "headers">): Principal | Promise<Principal>;
  /** The metadata of the protected resource (RFC 9728); undefined where no tokens are taken. */
  metadata(): JsonObject | undefined;
  /** The `WWW-Authenticate` of an answer to a token that lacks these scopes. */
  readonly challenge: (scopes: readonly string[]) => string;
}

export const NO_AUTHENTICATION: Authentication = {
  isRequired: false,
  authenticate: () => ANONYMOUS,
  metadata: () => undefined,
  challenge: (scopes) => challenge({ scopes }),
};

export interface AuthenticationOptions {
  /** The URL the gateway listens at, for where the config names no other. Asked when it listens. */
  readonly url: () => string;
  readonly logger?: Logger;
  /** Told of everybody who was not let in. */
  readonly onFailure?: (reason: AuthFailure) => void;
  /** Checks a token. Default: against the issuer's keys, fetched when they are needed. */
  readonly checkToken?: (text: string) => Promise<CheckedToken>;
}

/** A token that was good is believed for so long without another look, in ms; a key of its issuer may be gone. */
const CACHE_TTL_MS = 5 * 60_000;
/** What is remembered at most: so many, and claims of so many characters. */
const CACHE_LIMITS = { max: 10_000, maxSize: 16 * 1024 * 1024 };

interface CachedPrincipal {
  readonly principal: Principal;
  /** Milliseconds since 1970. */
  readonly until: number;
  readonly size: number;
}

export function createAuthentication(config: AuthConfig, options: AuthenticationOptions): Authentication {
  const { url, logger = SILENT, onFailure = () => {} } = options;
  const keys = new ApiKeys(config.keys);
  const verify = options.checkToken ?? lazyTokenVerifier(config, url, logger);
  const cache = new LRUCache<string, CachedPrincipal>({
    ...CACHE_LIMITS,
    sizeCalculation: ({ size }) => size,
  });
  // With it nobody can choose what is looked up by knowing what it is the hash of.
  const salt = randomBytes(32).toString("base64");
  const resource = (): string => config.resource ?? url();

  return {
    isRequired: true,
    authenticate(request) {
      const credential = credentialOf(request);
      if (credential === undefined) throw refused(missingCredentials(config));
      const name = hash("sha256", `${salt}${credential.kind}${credential.text}`, "base64");
      const known = cache.get(name);
      if (known !== undefined && known.until > Date.now()) return known.principal;
      if (credential.kind === "token" && config.jwt !== undefined)
        return authenticateToken(credential.text, name);
      const { principal, expiresAt } = authenticateKey(credential);
      return cachePrincipal(name, principal, expiresAt, credential.text.length);
    },
    metadata: () => (config.jwt === undefined ? undefined : resourceMetadata(config, config.jwt, resource())),
    challenge: (scopes) => challenge(challengeParameters(scopes), "insufficient_scope"),
  };

  function authenticateKey({ text }: Credential): {
    readonly principal: Principal;
    readonly expiresAt: number;
  } {
    const found = keys.find(hash("sha256", text, "buffer"));
    if (found === undefined) throw refused(new AuthError("unknown_key", "this key is not known here"));
    if (found.expiresAt <= Date.now()) throw refused(new AuthError("expired", "this key has expired"));
    return found;
  }

  async function authenticateToken(text: string, name: string): Promise<Principal> {
    try {
      const { principal, expiresAt } = await verify(text);
      return cachePrincipal(name, principal, Math.min(expiresAt, Date.now() + CACHE_TTL_MS), text.length);
    } catch (error) {
      throw error instanceof AuthError ? refused(error) : error;
    }
  }

  /** Whoever comes with the same credential is the same object, so that others can keep things by it. */
  function cachePrincipal(name: string, principal: Principal, until: number, size: number): Principal {
    const before = cache.get(name);
    if (before !== undefined && before.until > Date.now()) return before.principal;
    cache.set(name, { principal, until, size });
    return principal;
  }

  function refused(error: AuthError) {
    onFailure(error.reason);
    logger.debug({ reason: error.reason, error: error.cause }, "a request was not let in");
    return refusal(error, challengeParameters([]));
  }

  /** What lets somebody in for an operation that needs `scopes`. */
  function challengeParameters(scopes: readonly string[]): ChallengeParameters {
    const all = [...new Set([...config.requiredScopes, ...scopes])];
    return config.jwt === undefined
      ? { scopes: [] }
      : { metadataUrl: metadataUrlOf(resource()), scopes: all };
  }
}

/** Starts with the first token; a gateway that takes only keys loads nothing of it. */
function lazyTokenVerifier(
  { jwt, keys, requiredScopes, resource }: AuthConfig,
  url: () => string,
  logger: Logger,
) {
  const reservedIds = new Set(keys.map(({ id }) => id));
  let verifier: Promise<(text: string) => Promise<CheckedToken>> | undefined;
  const start = async () => {
    if (jwt === undefined) throw new TypeError("no tokens are taken here");
    const [{ checkToken }, { issuerKeys }, { fetchJson }] = await Promise.all([
      import("./tokens.js"),
      import("./issuer-keys.js"),
      import("./fetch-json.js"),
    ]);
    const audience = jwt.audience.length > 0 ? jwt.audience : [resource ?? url()];
    const settings = {
      jwt,
      audience,
      requiredScopes,
      reservedIds,
      keyOf: issuerKeys({ jwt, fetch: fetchJson, logger }),
    };
    return (text: string) => checkToken(text, settings);
  };
  return async (text: string): Promise<CheckedToken> => {
    verifier ??= start();
    return (await verifier)(text);
  };
}

function missingCredentials({ jwt }: AuthConfig): AuthError {
  const what = jwt === undefined ? "an API key" : "a token";
  return new AuthError("missing", `this needs ${what}: send Authorization: Bearer …`);
}
