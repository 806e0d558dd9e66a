/**
 * Signs the person in at the company's issuer (OpenID Connect): code with PKCE, `state`, `nonce`, and a signed ID
 * token.
 */

import { createRemoteJWKSet, type JWTVerifyGetKey, customFetch as joseFetch, jwtVerify } from "jose";
import * as oauth from "oauth4webapi";
import type { SignInConfig } from "../../config/auth-config.js";
import { groupsIn, subjectFault } from "../../core/claims.js";
import type { Logger } from "../../core/logger.js";
import { isLoopback } from "../../http/loopback.js";
import type { GuardedFetch, GuardedRequest } from "../../outgoing/guarded-fetch.js";
import { hasHiddenCharacters } from "../../wire/readable-text.js";
import { OAuthError } from "./oauth-error.js";
import { isSame } from "./sealing.js";
import type { Now, Person } from "./types.js";

interface IssuerLoginOptions {
  readonly signIn: Pick<SignInConfig, "issuer" | "clientId" | "clientSecret" | "scopes" | "groupsClaim">;
  readonly fetch: GuardedFetch;
  /** Whether no person may have this id: see `reservedIn`. */
  readonly isReserved: (id: string) => boolean;
  readonly now: Now;
  readonly logger: Logger;
}

/** The state to keep until the callback. */
export interface BegunLogin {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

interface Discovered {
  readonly until: number;
  readonly server: oauth.AuthorizationServer;
  readonly keyOf: JWTVerifyGetKey;
}

const FRESH_MS = 10 * 60_000;
const TIMEOUT_MS = 10_000;
/** Asymmetric algorithms only; never `none` or HMAC. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/** Logins at one issuer. */
export class IssuerLogin {
  readonly #options: IssuerLoginOptions;
  #discovered: Discovered | undefined;

  constructor(options: IssuerLoginOptions) {
    this.#options = options;
  }

  /** The authorization URL. @throws OAuthError `temporarily_unavailable` if the issuer does not respond */
  async begin(redirectUri: string): Promise<BegunLogin & { readonly url: string }> {
    const { signIn } = this.#options;
    const { server } = await this.#discover();
    if (server.authorization_endpoint === undefined)
      throw this.#unavailable("it names no authorization_endpoint");
    const begun = {
      state: oauth.generateRandomState(),
      nonce: oauth.generateRandomNonce(),
      verifier: oauth.generateRandomCodeVerifier(),
    };
    const url = new URL(server.authorization_endpoint);
    const parameters = {
      response_type: "code",
      client_id: signIn.clientId,
      redirect_uri: redirectUri,
      scope: [...new Set(["openid", ...signIn.scopes])].join(" "),
      state: begun.state,
      nonce: begun.nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: "S256",
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return { ...begun, url: url.href };
  }

  /**
   * The person, from the issuer's response in the query of `url`.
   *
   * @throws OAuthError `access_denied` if the issuer or this gateway refuses, `server_error` if a response is invalid
   */
  async finish(url: URL, begun: BegunLogin, redirectUri: string): Promise<Person> {
    const { server, keyOf } = await this.#discover();
    try {
      return await this.#finish(server, keyOf, url, begun, redirectUri);
    } catch (error) {
      throw error instanceof OAuthError ? error : this.#asOAuthError(error);
    }
  }

  async #finish(
    server: oauth.AuthorizationServer,
    keyOf: JWTVerifyGetKey,
    url: URL,
    begun: BegunLogin,
    redirectUri: string,
  ): Promise<Person> {
    const { signIn } = this.#options;
    const client: oauth.Client = { client_id: signIn.clientId };
    const answer = oauth.validateAuthResponse(server, client, url, begun.state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      clientAuthOf(server, signIn.clientSecret),
      answer,
      redirectUri,
      begun.verifier,
      this.#http(),
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: begun.nonce,
      requireIdToken: true,
    });
    const { payload } = await jwtVerify(tokens.id_token ?? "", keyOf, {
      issuer: signIn.issuer,
      audience: signIn.clientId,
      algorithms: ALGORITHMS,
      requiredClaims: ["exp", "iat", "sub", "nonce"],
      clockTolerance: 60,
    });
    if (typeof payload.nonce !== "string" || !isSame(payload.nonce, begun.nonce))
      throw new OAuthError("server_error", "the nonce of the ID token is wrong");
    const subject = this.#subjectOf(payload.sub);
    const own = groupsIn(payload, signIn.groupsClaim);
    const isComplete = own.length > 0 || server.userinfo_endpoint === undefined;
    const groups = isComplete ? own : await this.#groupsOfUser(server, client, subject, tokens.access_token);
    if (groups.some(hasHiddenCharacters))
      throw new OAuthError("access_denied", "a group that the issuer names has hidden characters");
    return { subject, groups };
  }

  /** Many issuers list groups in the user information only. Without access to it there are none. */
  async #groupsOfUser(
    server: oauth.AuthorizationServer,
    client: oauth.Client,
    subject: string,
    accessToken: string,
  ): Promise<readonly string[]> {
    const { signIn, logger } = this.#options;
    const response = await oauth.userInfoRequest(server, client, accessToken, this.#http());
    if (response.status === 401 || response.status === 403) {
      logger.debug(
        { issuer: signIn.issuer },
        "the issuer gives no user information, so no groups are read from it",
      );
      return [];
    }
    return groupsIn(
      { ...(await oauth.processUserInfoResponse(server, client, subject, response)) },
      signIn.groupsClaim,
    );
  }

  #subjectOf(sub: string | undefined): string {
    const fault = subjectFault(sub);
    if (sub === undefined || fault !== undefined)
      throw new OAuthError(
        "access_denied",
        `the subject (sub) that the issuer names ${fault ?? "is missing"}`,
      );
    if (this.#options.isReserved(sub))
      throw new OAuthError(
        "access_denied",
        "the subject (sub) that the issuer names is a reserved id, or that of an API key",
      );
    return sub;
  }

  async #discover(): Promise<Discovered> {
    const { signIn, now, fetch } = this.#options;
    if (this.#discovered !== undefined && this.#discovered.until > now()) return this.#discovered;
    const url = new URL(signIn.issuer);
    try {
      const response = await oauth.discoveryRequest(url, { algorithm: "oidc", ...this.#http() });
      const server = await oauth.processDiscoveryResponse(url, response);
      if (server.issuer !== signIn.issuer)
        throw new Error(`its metadata names the issuer ${server.issuer}; write that into auth.signIn.issuer`);
      if (server.jwks_uri === undefined) throw new Error("its metadata has no jwks_uri");
      const keyOf = createRemoteJWKSet(new URL(server.jwks_uri), {
        [joseFetch]: (keysUrl, { signal }) => fetch(keysUrl, { signal }),
        timeoutDuration: TIMEOUT_MS,
      });
      this.#discovered = { until: now() + FRESH_MS, server, keyOf };
      return this.#discovered;
    } catch (cause) {
      throw this.#unavailable(cause instanceof Error ? cause.message : String(cause), cause);
    }
  }

  #http() {
    return {
      [oauth.customFetch]: (url: string, request: unknown) =>
        this.#options.fetch(url, request as GuardedRequest),
      [oauth.allowInsecureRequests]: isLoopback(new URL(this.#options.signIn.issuer).hostname),
      signal: () => AbortSignal.timeout(TIMEOUT_MS),
    };
  }

  #unavailable(reason: string, cause?: unknown): OAuthError {
    const { signIn, logger } = this.#options;
    logger.warn(
      { issuer: signIn.issuer },
      `sign-in is not possible: the issuer ${signIn.issuer} cannot be used (${reason})`,
    );
    return new OAuthError(
      "temporarily_unavailable",
      "the issuer of this gateway cannot be reached; try again later",
      {
        status: 503,
        cause,
      },
    );
  }

  #asOAuthError(error: unknown): OAuthError {
    const { signIn, logger } = this.#options;
    if (error instanceof oauth.AuthorizationResponseError) {
      logger.info(
        { issuer: signIn.issuer, reason: error.error },
        `the issuer has refused a sign-in (${error.error})`,
      );
      return new OAuthError("access_denied", "the issuer of this gateway has refused the sign-in", {
        cause: error,
      });
    }
    const reason = error instanceof Error ? error.message : String(error);
    logger.warn(
      { issuer: signIn.issuer },
      `a sign-in has failed: the answer of ${signIn.issuer} is not valid (${reason})`,
    );
    return new OAuthError("server_error", "the answer of the issuer of this gateway is not valid", {
      cause: error,
    });
  }
}

/** `client_secret_basic` is the default of an issuer that lists no method (OpenID Connect Discovery, 3). */
function clientAuthOf(server: oauth.AuthorizationServer, secret: string | undefined): oauth.ClientAuth {
  if (secret === undefined) return oauth.None();
  const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return methods.includes("client_secret_basic")
    ? oauth.ClientSecretBasic(secret)
    : oauth.ClientSecretPost(secret);
}
