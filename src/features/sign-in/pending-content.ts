/** The records of a sign-in in progress: its ticket, its authorization request, its outcome. */

import type { ClientRegistration } from "../vault/types.js";
import type { PendingAuthorization } from "./oauth/client.js";
import type { Discovered } from "./types.js";

/** The result of the preparation, before the person is asked. */
export interface PreparedSignIn {
  readonly discovered: Discovered;
  readonly client: ClientRegistration;
  readonly redirectUri: string;
  /** All requested scopes. */
  readonly scopes: readonly string[];
  /** The tokens are valid for more than the server, to which the person has not agreed yet. */
  readonly isWider?: true;
}

/** The principal and the server of a sign-in. */
export interface SignInSubject {
  readonly server: string;
  /** The key of the principal that owns the credentials (`principalKey`), or one of `OWNER_IDS`. */
  readonly principal: string;
}

/** The ticket of a connect page. */
export interface TicketRecord extends SignInSubject {
  /** `WWW-Authenticate` of the refused request. */
  readonly challenge?: string;
  /** The scopes that refused calls lacked; another process may serve the page. */
  readonly lackedScopes?: readonly string[];
  /** The result of the preparation at the page's first visit. */
  readonly prepared?: PreparedSignIn;
  /** The path of the page of the gateway where the person has begun. */
  readonly back?: string;
  /** Wrong keys so far. */
  readonly wrongKeys?: number;
}

/** How the person at the browser was identified as the principal. */
export type Proof =
  /** Started by an operator, from the command line or the console, whose user may read the vault anyway. */
  | "operator"
  /** The gateway accepts calls without credentials, and only from this machine. */
  | "loopback"
  /** The person entered a key of the principal. */
  | "key"
  /** The sign-in itself is at the principal's issuer and must name the principal. */
  | "subject"
  /** A login at the principal's issuer comes first and must name the principal. */
  | "login";

/** One authorization request, keyed by its `state`. */
export interface StateRecord extends SignInSubject {
  readonly login: string;
  readonly proof: Proof;
  readonly prepared: PreparedSignIn;
  readonly pending: PendingAuthorization;
  /** The sign-in that starts once this one, an identifying login, has named the principal. */
  readonly next?: { readonly subject: SignInSubject; readonly prepared: PreparedSignIn };
  /** As that of the ticket. */
  readonly back?: string;
  /** SHA-256 of the cookie of the browser that started it; absent if a command did. */
  readonly browser?: string;
}

/** The outcome of a sign-in that a command or page started. */
export type LoginState = SignInSubject &
  (
    | { readonly state: "waiting" }
    | { readonly state: "done"; readonly scopes: readonly string[] }
    /** `reason` is a sentence. */
    | { readonly state: "failed"; readonly reason: string }
  );
