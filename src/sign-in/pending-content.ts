/** What is kept of a sign-in in progress: of its ticket, of its authorization request, of its end. */
import type { PendingAuthorization } from "./oauth/client.js";
import type { ClientRegistration, Discovered } from "./types.js";

/** What was found out before a person is asked. */
export interface PreparedSignIn {
  readonly discovered: Discovered;
  readonly client: ClientRegistration;
  readonly redirectUri: string;
  /** All that are asked for. */
  readonly scopes: readonly string[];
}

/** Who signs in where. */
export interface SignInSubject {
  readonly server: string;
  /** The id of the principal whose credentials they are. */
  readonly principal: string;
}

/** An invitation to the connect page. */
export interface TicketRecord extends SignInSubject {
  /** `WWW-Authenticate` of the refusal that led here. */
  readonly challenge?: string;
  /** The scopes that calls were refused for want of; another process may serve the page. */
  readonly lackedScopes?: readonly string[];
  /** What the page has found out at its first visit. */
  readonly prepared?: PreparedSignIn;
  /** How often a wrong key was given. */
  readonly wrongKeys?: number;
}

/** How it was made sure that the person at the browser is the principal. */
export type Proof =
  /** An operator began it: by the command line or the console, whose user may read the vault anyway. */
  | "operator"
  /** The gateway takes calls without credentials, and only this machine reaches it. */
  | "loopback"
  /** The person has given a key of the principal. */
  | "key"
  /** The sign-in itself is at the issuer that the principal is from, and must name the principal. */
  | "subject"
  /** A login at the issuer that the principal is from comes first, and must name the principal. */
  | "login";

/** One authorization request, by its `state`. */
export interface StateRecord extends SignInSubject {
  readonly login: string;
  readonly proof: Proof;
  readonly prepared: PreparedSignIn;
  readonly pending: PendingAuthorization;
  /** The sign-in that begins when this one, a login that says who is there, has named the principal. */
  readonly next?: { readonly subject: SignInSubject; readonly prepared: PreparedSignIn };
  /** SHA-256 of the cookie of the browser that began it; absent where a command did. */
  readonly browser?: string;
}

/** What has become of a sign-in that a command or page began. */
export type LoginState = SignInSubject &
  (
    | { readonly state: "waiting" }
    | { readonly state: "done"; readonly scopes: readonly string[] }
    /** `reason` is a sentence. */
    | { readonly state: "failed"; readonly reason: string }
  );
