/** Which credentials does a request to a server carry, and what becomes of one that the server refuses? */
import type { Call } from "./call.js";
import type { GatewayError } from "./errors.js";
import type { StopSignal } from "./stop.js";

/** The `Authorization` header of requests to one server for one principal. Transports use it. */
export interface RequestCredentials {
  /** The header's value where it can be used at once; undefined if `obtain` must be called first. Costs no promise. */
  readonly header: string | undefined;
  /** Whether the principal has signed in there before, as of the last `obtain`; absent: it has not, as far as is known. */
  readonly hasSignedIn?: boolean;
  /**
   * The header's value, after a refresh where one is due.
   *
   * @throws GatewayError `sign_in_required` where the principal is not signed in, `upstream_unavailable` where the authorization
   * server cannot be reached and no token is left, `cancelled` when `signal` aborts. The refresh itself continues then.
   */
  obtain(signal: StopSignal): Promise<string>;
  /**
   * The server has refused a request. Resolves to the header's value to send the same request with again, or to the
   * error that the request fails with. Never rejects.
   */
  onRejected(rejected: RejectedRequest, signal: StopSignal): Promise<string | GatewayError>;
}

/** A request that was answered with 401, or with 403 and `insufficient_scope`. */
export interface RejectedRequest {
  readonly status: 401 | 403;
  /** The values of `WWW-Authenticate`, joined with commas where it came several times. */
  readonly challenge: string | undefined;
  /** The `Authorization` header it was sent with; undefined if it had none. */
  readonly sentHeader: string | undefined;
  /** How often this request was sent already; from the second time on a 401 is final. */
  readonly attempts: number;
}

/** Receives the id of the principal, and whether it is signed in now. */
export type SignInListener = (principal: string, isSignedIn: boolean) => void;

/**
 * Receives the tokens of one sign-in, which `id` names, at `server`: those in use, and those that they replaced; none when it has
 * ended.
 */
export type TokenListener = (id: string, server: string, tokens: readonly string[]) => void;

/** Finds the credentials of each principal at each server that may need a sign-in. */
export interface CredentialStore {
  /** Those of `principal` (its id) at `server`; the same object for as long as the server has the same config. */
  of(server: string, principal: string): RequestCredentials;
  /**
   * Calls `listener` when a principal has signed in or out there, or its tokens are no longer accepted. The returned
   * function ends that.
   */
  watch(server: string, listener: SignInListener): () => void;
  /**
   * Calls `listener` with the tokens that this process uses, now and when they change. The returned function ends that. Absent:
   * there are none that it knows of.
   */
  watchTokens?(listener: TokenListener): () => void;
  /** Whether metadata of `server` say that a person can sign in there. Never rejects. */
  offersSignIn(server: string): Promise<boolean>;
}

/** The sign-ins of one person at servers, for a page that shows them to that person. `principal` is the key of a principal. */
export interface PersonSignIns {
  /** Whether `server` needs nothing of the person now. */
  isSignedIn(server: string, principal: string): Promise<boolean>;
  /**
   * The page where the person signs in; its last page leads to the path `back` of the gateway. Undefined if no browser reaches this
   * gateway. @throws GatewayError, for the person
   */
  connectUrl(server: string, principal: string, back: string): Promise<string | undefined>;
  /** Revokes and deletes the tokens. @throws GatewayError, for the person */
  signOut(server: string, principal: string): Promise<void>;
}

/** The credentials of a gateway, for its connections and its calls. */
export interface CredentialSource extends CredentialStore {
  /** Absent if there is no vault. */
  readonly persons?: PersonSignIns | undefined;
  /** The error for a call whose principal has not signed in at `server`, with the page for that where there is one. */
  refusal(server: string, call: Call): Promise<GatewayError>;
}
