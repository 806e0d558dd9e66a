/** What does a token source ask of the OAuth client? Requests to the token endpoint of one server's authorization server. */
import type { SignInServer } from "./sign-in-server.js";
import type { ClientRegistration, Credential, TokenOutcome, TokenSet } from "./types.js";

/** The requests for one server, with its config. None of them touches the vault, but for `registerAgain`. */
export interface TokenEndpoint {
  /** Sends the refresh token of `credential`. Never rejects; ends as `ambiguous` when `signal` aborts. */
  refresh(credential: Credential, signal: AbortSignal): Promise<TokenOutcome>;
  /**
   * Makes a new dynamic registration in place of the one that the authorization server does not know any more, and keeps
   * it in the vault. Undefined where that is not possible.
   */
  registerAgain(credential: Credential, signal: AbortSignal): Promise<ClientRegistration | undefined>;
  /**
   * Obtains tokens without a person at this server: by `client_credentials`, or by a login at the company's issuer. Absent
   * where a person signs in at this server. Rejects with a VaultError only.
   */
  obtain?(request: ObtainRequest, signal: AbortSignal): Promise<Obtained>;
  /** `obtain` may spend the refresh token of a login, so that it runs where refreshes do. */
  readonly refreshesLogin?: boolean;
  /** How the renewal process makes this endpoint, too; absent where refreshes run in this process. */
  readonly recipe?: EndpointRecipe;
  /** The scopes that a challenge with `insufficient_scope` names; empty where it names none. */
  challengedScopes(challenge: string | undefined): readonly string[];
}

/** For whom tokens are obtained. */
export interface ObtainRequest {
  /** Under whom they are kept. */
  readonly principal: string;
  /** The record so far. */
  readonly before: Credential | undefined;
  /** Those of a challenge, besides the configured ones. */
  readonly scopes: readonly string[];
}

/** What the requests are made with; JSON, as the renewal process gets it too. */
export interface TokenEndpointSettings {
  readonly server: SignInServer;
  /** The URL of the gateway for browsers, without a slash at its end. */
  readonly baseUrl: string;
}

/** How the renewal process makes the endpoint of a server: what `module` exports, with settings that are JSON. */
export interface EndpointRecipe {
  /** A `file:` URL of the gateway's own code, which exports `tokenEndpointOf`. */
  readonly module: string;
  readonly settings: unknown;
}

/** What a record consists of besides its tokens and its generation. */
type SignIn = Omit<Credential, "generation" | "tokens" | "refreshBegunAt">;

/** Tokens that were obtained without a person, and the record that they belong to; or what the request ended in. */
export type Obtained =
  | { readonly kind: "tokens"; readonly tokens: TokenSet; readonly signIn: SignIn }
  | Exclude<TokenOutcome, { readonly kind: "tokens" }>;
