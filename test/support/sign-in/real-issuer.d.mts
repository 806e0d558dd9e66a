export interface RealIssuerOptions {
  readonly port?: number;
  /** In seconds. Default: an hour. */
  readonly accessTokenTtl?: number;
  /** In seconds. Default: two weeks. */
  readonly refreshTokenTtl?: number;
  /** Opaque tokens end with their family; JWTs (the default) live until they expire. */
  readonly tokenFormat?: "jwt" | "opaque";
  /** Whether it takes client id metadata documents (default), which are put into `documents`. */
  readonly cimd?: boolean;
  /** Registered clients, as metadata of RFC 7591; the defaults are those of the code flow. */
  readonly clients?: readonly { readonly [member: string]: unknown }[];
  /** The scopes that a person may have, such as `{ bob: "read" }`. Default: all. */
  readonly scopesOf?: Readonly<Record<string, string>>;
  /** The issuers whose ID-JAGs are taken, beside its own. */
  readonly trustedIssuers?: readonly string[];
}

export interface RealIssuer {
  readonly issuer: string;
  readonly mcpUrl: string;
  /** What came of each token request and registration, in order. */
  readonly events: readonly { readonly grant: string; readonly outcome: string }[];
  /** Client id metadata documents, by their URL. */
  readonly documents: Map<string, unknown>;
  /** Every token, code and verifier that the issuer has given or taken, with the name of its member. */
  readonly secrets: ReadonlyMap<string, string>;
  /** The access tokens that requests had, in the order of their first use. */
  readonly tokens: ReadonlySet<string>;
  /** The tool calls that were run. */
  readonly calls: readonly { readonly tool: string; readonly sub: string }[];
  /** Whether a request whose expired token was refused has not come again with another one. */
  hasRefused(): boolean;
  /** Makes the MCP server refuse every access token issued until now; refresh tokens stay good. */
  expireAccessTokens(): void;
  close(): Promise<void>;
}

export function startRealIssuer(options?: RealIssuerOptions): Promise<RealIssuer>;
