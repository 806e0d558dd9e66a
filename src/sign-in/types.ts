/** The shared types of signing in: what an authorization server is, what is kept of a sign-in, what a token request can end in. */

/** How one server deviates from the rules, as its config states it (`auth.quirks`). */
export interface Quirks {
  /** A trailing slash of the issuer does not count (Google). */
  readonly issuerSlash?: boolean;
  /** The issuer that the metadata may name in place of its own. */
  readonly issuer?: string;
  /** No `resource` parameter is sent (Entra). */
  readonly noResource?: boolean;
  /** PKCE with S256 is used although the metadata does not name it (Entra, Cognito). */
  readonly assumeS256?: boolean;
  /** `client_secret_basic` without form-encoding. */
  readonly basicRaw?: boolean;
  /** `client_name` of a dynamic registration (Figma allows listed names only). */
  readonly clientName?: string;
  /** The host of the redirect URI on loopback (GitHub compares it literally). */
  readonly redirectHost?: "localhost";
}

/** The validated metadata of an authorization server (RFC 8414, or OpenID Connect Discovery), and where it was found. */
export interface AuthorizationServer {
  /** Exactly as the metadata writes it. */
  readonly issuer: string;
  /** The whole document; members are checked where they are used. */
  readonly metadata: { readonly [member: string]: unknown };
}

/** What discovery has found out about an MCP server. */
export interface Discovered {
  /** The identifier of the protected resource, sent as `resource` (RFC 8707). */
  readonly resource: string;
  readonly authorizationServer: AuthorizationServer;
  /** The scopes to ask for: of the challenge, else `scopes_supported` of the resource; empty where neither names any. */
  readonly scopes: readonly string[];
}

/** One step of discovery or of a sign-in, as `doctor` shows it. */
export interface Step {
  /** What was asked or checked, such as `GET https://…/.well-known/…`. Without a query. */
  readonly what: string;
  readonly outcome: "ok" | "skipped" | "failed";
  /** Why, as a sentence: the rule that is broken, with its source. */
  readonly reason?: string;
  /** The quirk that would mend it, as it is written in the config. */
  readonly quirk?: string;
}

/** How the gateway identifies itself at an authorization server. */
export interface ClientRegistration {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly tokenEndpointAuthMethod: "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";
  readonly source: "config" | "metadata_document" | "dynamic";
  /** Of a dynamic one: when it was made and when its secret expires (ms since 1970). */
  readonly registeredAt?: number;
  readonly secretExpiresAt?: number;
}

/** The tokens of one answer of a token endpoint (RFC 6749, 5.1), times in ms since 1970. */
export interface TokenSet {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly idToken?: string;
  /** `scope` of the answer; undefined where it is the one that was asked for. */
  readonly scope?: string;
  readonly obtainedAt: number;
  /** Undefined where the answer has no `expires_in`. */
  readonly expiresAt?: number;
}

/** What is kept of the sign-in of one principal at one server: one record of the vault. */
export interface Credential {
  /** Grows by one with each write; a fence between processes. */
  readonly generation: number;
  readonly server: string;
  readonly principal: string;
  readonly issuer: string;
  /** The token is sent nowhere else. */
  readonly resource: string;
  readonly client: ClientRegistration;
  /** The endpoints that a refresh and a sign-out need, from the validated metadata. */
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
  /** How the token was obtained; the same way obtains the next one. */
  readonly grant:
    | "authorization_code"
    | "device_code"
    | "client_credentials"
    | "jwt_bearer"
    | "token_exchange";
  /** Undefined where a sign-in is needed again: client and scopes are kept. */
  readonly tokens?: TokenSet;
  /** All scopes that were ever asked for; a step-up asks for these and the challenged ones. */
  readonly askedScopes: readonly string[];
  /** A refresh with this generation's refresh token was begun (ms since 1970) and its end was not written. */
  readonly refreshBegunAt?: number;
  /** `sub` of the ID token, where there was one. */
  readonly subject?: string;
}

/** What a request to a token endpoint ended in. */
export type TokenOutcome =
  | { readonly kind: "tokens"; readonly tokens: TokenSet }
  /** `invalid_grant`: the refresh token or code is spent, expired or revoked. */
  | { readonly kind: "invalid_grant"; readonly description?: string }
  /** `invalid_client`: the registration is not known there any more. */
  | { readonly kind: "invalid_client"; readonly description?: string }
  /** Another OAuth error, which asking again will not change. */
  | { readonly kind: "refused"; readonly error: string; readonly description?: string }
  /** 5xx, 429, or no connection: the request was not processed. */
  | { readonly kind: "unavailable"; readonly reason: string; readonly retryAfterMs?: number }
  /** A timeout or reset after the request was sent: it may have been processed. */
  | { readonly kind: "ambiguous"; readonly reason: string };

/** The credentials of all principals, on disk. Every method is safe against a crash at any moment. */
export interface Vault {
  /** @throws VaultError where the record is there and cannot be used (permissions, key, damage); says what to do. */
  read(server: string, principal: string): Promise<Credential | undefined>;
  /** Writes a record of the next generation, durably. @throws VaultError such as a full disk; the record before it stays. */
  write(credential: Credential): Promise<void>;
  remove(server: string, principal: string): Promise<void>;
  /** Every record that can be read; the tokens are left out. */
  list(): Promise<readonly Omit<Credential, "tokens">[]>;
  /** The dynamic registration at `issuer` for `redirectUri`, and how it is kept or forgotten. */
  readClient(issuer: string, redirectUri: string): Promise<ClientRegistration | undefined>;
  writeClient(issuer: string, redirectUri: string, client: ClientRegistration): Promise<void>;
  removeClient(issuer: string, redirectUri: string): Promise<void>;
  /** Runs `task` while no other task of any process of this state directory holds the lock of the record. */
  locked<T>(server: string, principal: string, task: () => Promise<T>): Promise<T>;
}
