/** Whose credentials the requests to a server carry. */

/** How credentials are obtained. @public a feature adds its ways by a declaration */
export interface CredentialTypes {
  /** Only where the server asks for them. With the others the first request carries some. */
  readonly oauth: true;
}

/** The credentials of a server. @public a feature adds what it needs to obtain them, by a declaration */
export interface ServerAuthConfig {
  readonly type: keyof CredentialTypes;
  /** The config says nothing: credentials are assumed where the server asks for some. */
  readonly isAssumed?: true;
  /** Whose credentials calls carry. */
  readonly as: "principal" | "shared" | "service";
  /** False if the gateway authenticates no hosts, so that all of them are the principal `anonymous`. */
  readonly hasPrincipals: boolean;
}
