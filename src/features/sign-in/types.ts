/** The shared types of signing in: authorization servers, discovery, outcomes of token requests. */
import type { TokenSet } from "../vault/types.js";

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
