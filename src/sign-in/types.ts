/** The shared types of signing in: authorization servers, stored credentials, outcomes of token requests. */

/** Deviations of a server from the specifications, as its config states them (`auth.quirks`). */
export interface Quirks {
  /** A trailing slash of the issuer is ignored (Google). */
  readonly issuerSlash?: boolean;
  /** The issuer that the metadata may name instead. */
  readonly issuer?: string;
  /** No `resource` parameter is sent (Entra). */
  readonly noResource?: boolean;
  /** PKCE with S256 is used although the metadata does not advertise it (Entra, Cognito). */
  readonly assumeS256?: boolean;
  /** `client_secret_basic` without form-encoding. */
  readonly basicRaw?: boolean;
  /** `client_name` of a dynamic registration (Figma allows listed names only). */
  readonly clientName?: string;
  /** The host of the redirect URI on loopback (GitHub compares it literally). */
  readonly redirectHost?: "localhost";
}

/** The validated metadata of an authorization server (RFC 8414, or OpenID Connect Discovery), and its URL. */
export interface AuthorizationServer {
  /** As written in the metadata. */
  readonly issuer: string;
  /** The issuer whose metadata was requested; with a quirk the metadata may name another one. Default: `issuer`. */
  readonly requested?: string;
  /** The whole document; members are checked at their use. */
  readonly metadata: { readonly [member: string]: unknown };
}

/** How the authorization server of a pin was chosen. */
type PinReason =
  /** The server named it when the first secret, code or browser was sent. */
  | "first_use"
  /** A sign-in of an earlier version was there. */
  | "record"
  /** An operator accepted it (`cardea login --accept-issuer`). */
  | "operator"
  /** `auth.issuer` named it. */
  | "config";

/** The authorization server that a server of the config is bound to. */
export interface IssuerPin {
  readonly server: string;
  /** The origin of the server's URL: at another one the config means another server. */
  readonly origin: string;
  /** As written in its metadata. */
  readonly issuer: string;
  /** The issuer whose metadata was requested. */
  readonly requested: string;
  /** The origins of its endpoints, by the name of the metadata's member. */
  readonly endpoints: Readonly<Record<string, string>>;
  readonly by: PinReason;
  /** ms since 1970. */
  readonly pinnedAt: number;
}

/** The result of discovery for an MCP server. */
export interface Discovered {
  /** The identifier of the protected resource, sent as `resource` (RFC 8707). */
  readonly resource: string;
  /** Whether a token for it is valid for more than the server, without the consent of the config (`auth.resource`). */
  readonly isWider?: true;
  readonly authorizationServer: AuthorizationServer;
  /**
   * The scopes to request: of the challenge, otherwise `scopes_supported` of the resource; empty if neither names any.
   */
  readonly scopes: readonly string[];
}

/** One step of discovery or of a sign-in, as `doctor` shows it. */
export interface Step {
  /** The request or check, for example `GET https://…/.well-known/…`. Without a query. */
  readonly what: string;
  readonly outcome: "ok" | "skipped" | "failed";
  /** The reason, as a sentence: the violated rule, with its source. */
  readonly reason?: string;
  /** The quirk that would avoid it, as written in the config. */
  readonly quirk?: string;
}

/** The client identity of the gateway at an authorization server. */
export interface ClientRegistration {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly tokenEndpointAuthMethod: "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";
  readonly source: "config" | "metadata_document" | "dynamic";
  /** Dynamic only: when it was made and when its secret expires (ms since 1970). */
  readonly registeredAt?: number;
  readonly secretExpiresAt?: number;
}

/** The tokens of a token response (RFC 6749, 5.1), times in ms since 1970. */
export interface TokenSet {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly idToken?: string;
  /** `scope` of the response; undefined if it equals the requested one. */
  readonly scope?: string;
  readonly obtainedAt: number;
  /** Undefined if the response has no `expires_in`. */
  readonly expiresAt?: number;
}

/** The stored sign-in of one principal at one server: one record of the vault. */
export interface Credential {
  /** Grows by one with each write; the fencing token between processes. */
  readonly generation: number;
  readonly server: string;
  readonly principal: string;
  readonly issuer: string;
  /** The token is sent only there. */
  readonly resource: string;
  readonly client: ClientRegistration;
  /** The endpoints for refresh and sign-out, from the validated metadata. */
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
  /** The grant that obtained the token; it obtains the next one too. */
  readonly grant:
    | "authorization_code"
    | "device_code"
    | "client_credentials"
    | "jwt_bearer"
    | "token_exchange";
  /** Undefined if a new sign-in is needed: client and scopes are kept. */
  readonly tokens?: TokenSet;
  /** All scopes ever requested; a step-up requests these and those of the challenge. */
  readonly askedScopes: readonly string[];
  /** A refresh with this generation's refresh token was started (ms since 1970) and its result not written. */
  readonly refreshBegunAt?: number;
  /** `sub` of the ID token, if there was one. */
  readonly subject?: string;
}

/** The outcome of a token request. */
export type TokenOutcome =
  | { readonly kind: "tokens"; readonly tokens: TokenSet }
  /** `invalid_grant`: the refresh token or code is spent, expired or revoked. */
  | { readonly kind: "invalid_grant"; readonly description?: string }
  /** `invalid_client`: the registration is unknown there. */
  | { readonly kind: "invalid_client"; readonly description?: string }
  /** Another OAuth error, which a retry will not change. */
  | { readonly kind: "refused"; readonly error: string; readonly description?: string }
  /** 5xx, 429, or no connection: the request was not processed. */
  | { readonly kind: "unavailable"; readonly reason: string; readonly retryAfterMs?: number }
  /** A timeout or reset after the request was sent: it may have been processed. */
  | { readonly kind: "ambiguous"; readonly reason: string };

/** The credentials of all principals, on disk. Every method is crash-safe. */
export interface Vault {
  /** @throws VaultError if the record exists and cannot be used (permissions, key, damage); says what to do. */
  read(server: string, principal: string): Promise<Credential | undefined>;
  /**
   * Writes a record of the next generation, durably. @throws VaultError, e.g. on a full disk; the previous record
   * stays.
   */
  write(credential: Credential): Promise<void>;
  remove(server: string, principal: string): Promise<void>;
  /** Every readable record, without its tokens. */
  list(): Promise<readonly Omit<Credential, "tokens">[]>;
  /** The dynamic registration at `issuer` for `redirectUri`, and how to store or delete it. */
  readClient(issuer: string, redirectUri: string): Promise<ClientRegistration | undefined>;
  writeClient(issuer: string, redirectUri: string, client: ClientRegistration): Promise<void>;
  removeClient(issuer: string, redirectUri: string): Promise<void>;
  /** The authorization server that `server` is bound to; undefined before its first sign-in. */
  readPin(server: string, origin: string): Promise<IssuerPin | undefined>;
  /** Replaces the pin by the result of `update`, which may throw; one update at a time in all processes. */
  updatePin(
    server: string,
    origin: string,
    update: (kept: IssuerPin | undefined) => IssuerPin,
  ): Promise<IssuerPin>;
  /** Replaces the pin, whatever it is. */
  writePin(pin: IssuerPin): Promise<void>;
  /** Runs `task` while no other task of any process of this state directory holds the lock of the record. */
  locked<T>(server: string, principal: string, task: () => Promise<T>): Promise<T>;
}
