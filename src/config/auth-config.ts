/** `auth` of the config, completed: how hosts authenticate over HTTP: by key, by token, or by signing a person in. */

/** Authentication of hosts. */
export interface AuthConfig {
  readonly keys: readonly KeyConfig[];
  readonly jwt?: JwtConfig;
  readonly signIn?: SignInConfig;
  /** The URL under which hosts know the gateway; absent if it is the bound address. */
  readonly resource?: string;
  readonly requiredScopes: readonly string[];
}

/** One API key, as its digest. */
export interface KeyConfig {
  /** The id of the principal. */
  readonly id: string;
  /** Its SHA-256: 64 hexadecimal digits in lower case. */
  readonly digest: string;
  readonly groups: readonly string[];
  /** Milliseconds since 1970; absent if it never expires. */
  readonly expiresAt?: number;
}

/** Access tokens (RFC 9068) of one issuer. */
export interface JwtConfig {
  readonly issuer: string;
  /** Empty if it is the resource. */
  readonly audience: readonly string[];
  readonly jwksUri?: string;
  readonly algorithms: readonly string[];
  readonly groupsClaim: string;
  /** Optional scopes advertised to hosts in addition to the required ones. */
  readonly scopes: readonly string[];
}

/** The company's issuer, where persons sign in, and the gateway's client there. @public a feature adds what it offers to hosts */
export interface SignInConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** Optional scopes advertised to hosts. */
  readonly hostScopes: readonly string[];
  /** Hosts that may be private, besides that of the issuer. */
  readonly allowHosts: readonly string[];
}
