/** The requests of a token source to the token endpoint of a server's authorization server. */

import type { ClientRegistration, Credential, TokenSet } from "../vault/types.js";
import type { SignInServer } from "./sign-in-server.js";
import type { TokenOutcome } from "./types.js";

/** The requests for one server, with its config. None of them accesses the vault, except `registerAgain`. */
export interface TokenEndpoint {
  /** Whether the tokens of a record may be sent to this server. Default: all. */
  accepts?(credential: Credential): boolean;
  /** The keys of `auth` with which the client proves itself. Default: `clientId and clientSecret`. */
  readonly proof?: string;
  /** Sends the refresh token of `credential`. Never rejects; the outcome is `ambiguous` if `signal` aborts. */
  refresh(credential: Credential, signal: AbortSignal): Promise<TokenOutcome>;
  /**
   * Replaces a dynamic registration that the authorization server no longer knows, and stores it in the vault.
   * Undefined if that is not possible.
   */
  registerAgain(credential: Credential, signal: AbortSignal): Promise<ClientRegistration | undefined>;
  /**
   * Obtains tokens without a person at this server: by `client_credentials`, or through a login at the company's
   * issuer. Absent if a person signs in at this server. Rejects with a VaultError only.
   */
  obtain?(request: ObtainRequest, signal: AbortSignal): Promise<Obtained>;
  /** `obtain` may spend the refresh token of a login, so it runs where refreshes run. */
  readonly refreshesLogin?: boolean;
  /** The recipe of this endpoint for the renewal process; absent if refreshes run in this process. */
  readonly recipe?: EndpointRecipe;
  /** The scopes in a challenge with `insufficient_scope`; empty if it names none. */
  challengedScopes(challenge: string | undefined): readonly string[];
}

/** The input of `obtain`. */
export interface ObtainRequest {
  /** The id that owns the tokens. */
  readonly principal: string;
  /** The current record. */
  readonly before: Credential | undefined;
  /** Scopes of a challenge, besides the configured ones. */
  readonly scopes: readonly string[];
}

/** The settings of the requests; JSON, because the renewal process receives them too. */
export interface TokenEndpointSettings {
  readonly server: SignInServer;
  /** The URL of the gateway for browsers, without a slash at its end. */
  readonly baseUrl: string;
}

/** How the renewal process creates a server's endpoint: the exports of `module`, with JSON settings. */
export interface EndpointRecipe {
  /** A `file:` URL of the gateway's code that exports `tokenEndpointOf`. */
  readonly module: string;
  readonly settings: unknown;
}

/** A record without its tokens and its generation. */
type SignIn = Omit<Credential, "generation" | "tokens" | "refreshBegunAt">;

/** Tokens that were obtained without a person, and their record; or the outcome of the request. */
export type Obtained =
  | { readonly kind: "tokens"; readonly tokens: TokenSet; readonly signIn: SignIn }
  | Exclude<TokenOutcome, { readonly kind: "tokens" }>;
