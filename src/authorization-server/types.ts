/** The shared types of the authorization server: hosts as clients, their requests, and what is kept of a sign-in. */
import type { OAuthErrorCode } from "./oauth-error.js";

/** A host that asks for tokens. */
export interface HostClient {
  /** `client_id` as the host sends it. */
  readonly id: string;
  /** What the host calls itself; not verified. */
  readonly name: string;
  /** Exact, but for the port of a loopback address. */
  readonly redirectUris: readonly string[];
  /** A registration (RFC 7591), or a metadata document at the URL that is the `client_id`. */
  readonly kind: "registered" | "document";
  /** Whether the registration has expired. */
  readonly isExpired: boolean;
}

/** A checked authorization request. */
export interface AuthorizationRequest {
  /** `clientKeyOf` its `client_id`. */
  readonly client: string;
  readonly clientName: string;
  readonly redirectUri: string;
  /** `state` of the host, returned unchanged. */
  readonly state?: string | undefined;
  /** All are offered. */
  readonly scopes: readonly string[];
  /** PKCE, S256. */
  readonly challenge: string;
}

/** The person who has signed in at the company's issuer. */
export interface Person {
  /** `sub` of the ID token. */
  readonly subject: string;
  readonly groups: readonly string[];
}

/** What one person has granted one host: a family of tokens, kept until it ends. Times in ms since 1970. */
export interface Grant extends Person {
  readonly id: string;
  readonly client: string;
  readonly clientName: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly challenge: string;
  /** The URL that the tokens are for. */
  readonly resource: string;
  readonly createdAt: number;
  /** No token is issued after this time. */
  readonly expiresAt: number;
  /** 0: the code was not redeemed; else the number of the refresh token that is valid. */
  readonly generation: number;
}

/**
 * JSON values by name (43 characters of base64url), which outlive the process and are shared by all processes of a
 * gateway.
 */
export interface GrantStore {
  /** @throws Error where there is a value that cannot be read; says what to do */
  read(name: string): Promise<unknown>;
  /** Writes durably. @throws Error such as a full disk; the value before it stays */
  write(name: string, value: unknown): Promise<void>;
  remove(name: string): Promise<void>;
  /** The names (those of other stores are left out) that begin with `prefix`, and when each was last written (ms since 1970). */
  list(prefix: string): Promise<readonly { readonly name: string; readonly writtenAt: number }[]>;
  /** Runs `task` while no other task of any process holds the lock of that name. */
  locked<T>(name: string, task: () => Promise<T>): Promise<T>;
}

/** What has become of a sign-in of a person in a host. */
export interface HostSignIn {
  /** `reused`: a code or refresh token came a second time, which has ended the sign-in. */
  readonly outcome: "finished" | "refused" | "signed_out" | "reused";
  /** What the host calls itself; not verified. */
  readonly host: string;
  /** Absent where the person is not known. */
  readonly principal?: string;
  /** Why it was refused. */
  readonly error?: OAuthErrorCode;
}

/** Milliseconds since 1970. */
export type Now = () => number;
