/** `auth` of the config, complete: which hosts come in over HTTP, by key, by token, or by signing a person in. */

/** The ids of credentials that are no principal's (`mcpServers.NAME.auth.as`), so that no key and no token may claim them. */
export const OWNER_IDS: ReadonlySet<string> = new Set(["shared", "service"]);

/** Authentication of hosts. */
export interface AuthConfig {
  readonly keys: readonly KeyConfig[];
  readonly jwt?: JwtConfig;
  readonly signIn?: SignInConfig;
  /** The URL under which hosts know the gateway; absent where that is the one it listens at. */
  readonly resource?: string;
  readonly requiredScopes: readonly string[];
}

/** One API key, as its digest. */
export interface KeyConfig {
  /** The principal's. */
  readonly id: string;
  /** Its SHA-256: 64 hexadecimal digits in lower case. */
  readonly digest: string;
  readonly groups: readonly string[];
  /** Milliseconds since 1970; absent where it never expires. */
  readonly expiresAt?: number;
}

/** Access tokens (RFC 9068) of one issuer. */
export interface JwtConfig {
  readonly issuer: string;
  /** Empty where it is the resource. */
  readonly audience: readonly string[];
  readonly jwksUri?: string;
  readonly algorithms: readonly string[];
  readonly groupsClaim: string;
  /** Optional scopes that are advertised to hosts beside the required ones. */
  readonly scopes: readonly string[];
}

/** The gateway as authorization server for its hosts, in front of the company's issuer. */
export interface SignInConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly scopes: readonly string[];
  readonly groupsClaim: string;
  readonly hostScopes: readonly string[];
  /** In lower case; absent where all are allowed. */
  readonly allowedRedirectHosts?: readonly string[];
  /** Hosts that may be private, besides that of the issuer. */
  readonly allowHosts: readonly string[];
  readonly accessTokenMs: number;
  readonly lifetimeMs: number;
}
