/** The shared types of the authorization server: clients, requests and grants. */
import type { OAuthErrorCode } from "./oauth-error.js";

/** A host that requests tokens. */
export interface HostClient {
  /** `client_id` as the host sends it. */
  readonly id: string;
  /** The name that the host claims; not verified. */
  readonly name: string;
  /** Exact, except for the port of a loopback address. */
  readonly redirectUris: readonly string[];
  /** A registration (RFC 7591), or a metadata document at the URL that is the `client_id`. */
  readonly kind: "registered" | "document";
  /** Whether the registration has expired. */
  readonly isExpired: boolean;
}

/** A validated authorization request. */
export interface AuthorizationRequest {
  /** `clientKeyOf` its `client_id`. */
  readonly client: string;
  readonly clientName: string;
  readonly redirectUri: string;
  /** `state` of the host, returned unchanged. */
  readonly state?: string | undefined;
  /** The name of the only endpoint that is asked for; absent for the whole gateway. */
  readonly endpoint?: string | undefined;
  /** All of them are offered. */
  readonly scopes: readonly string[];
  /** PKCE, S256. */
  readonly challenge: string;
}

/** The person who signed in at the company's issuer. */
export interface Person {
  /** `sub` of the ID token. */
  readonly subject: string;
  readonly groups: readonly string[];
}

/** What one person has granted to one host: a token family, stored until it ends. Times in ms since 1970. */
export interface Grant extends Person {
  readonly id: string;
  readonly client: string;
  readonly clientName: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly challenge: string;
  /** The company's issuer that knows the person; absent in records of versions before it was kept. */
  readonly personIssuer?: string;
  /** The audience of the tokens: the gateway, or one of its endpoints. */
  readonly resource: string;
  readonly createdAt: number;
  /** No token is issued after this time. */
  readonly expiresAt: number;
  /** 0: the code was not redeemed; otherwise the number of the valid refresh token. */
  readonly generation: number;
}

/**
 * JSON values by name (43 characters of base64url) that outlive the process and are shared by all processes of a
 * gateway.
 */
export interface GrantStore {
  /** @throws Error if a value exists that cannot be read; says what to do */
  read(name: string): Promise<unknown>;
  /** Writes durably. @throws Error, e.g. on a full disk; the previous value stays */
  write(name: string, value: unknown): Promise<void>;
  remove(name: string): Promise<void>;
  /**
   * The names with this `prefix` (those of other stores are omitted), and when each was last written (ms since 1970).
   */
  list(prefix: string): Promise<readonly { readonly name: string; readonly writtenAt: number }[]>;
  /** Runs `task` while no other task of any process holds the lock of that name. */
  locked<T>(name: string, task: () => Promise<T>): Promise<T>;
}

/** The event of a person's sign-in in a host. */
export interface HostSignIn {
  /** `reused`: a code or refresh token was used twice, which ended the sign-in. */
  readonly outcome: "finished" | "refused" | "signed_out" | "reused";
  /** The name that the host claims; not verified. */
  readonly host: string;
  /** Absent if the person is unknown. */
  readonly principal?: string;
  /** The reason of a refusal. */
  readonly error?: OAuthErrorCode;
}

/** Receives the name of a host, and why redirect URIs of it are left out. */
export type LeftOut = (host: string, reasons: readonly string[]) => void;

/** Milliseconds since 1970. */
export type Now = () => number;
