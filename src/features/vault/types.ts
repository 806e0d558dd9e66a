/** What does the vault keep: sign-ins with their tokens, registrations as a client, pinned authorization servers? */

/** How the authorization server of a pin was chosen. */
type PinReason =
  /** The server named it when the first secret, code or browser was sent. */
  | "first_use"
  /** A sign-in of an earlier version was there. */
  | "record"
  /** An operator accepted it (`cardea login --accept-issuer`). */
  | "operator"
  /** `auth.issuer` named it. */
  | "config";

/** The authorization server that a server of the config is bound to. */
export interface IssuerPin {
  readonly server: string;
  /** The origin of the server's URL: at another one the config means another server. */
  readonly origin: string;
  /** As written in its metadata. */
  readonly issuer: string;
  /** The issuer whose metadata was requested. */
  readonly requested: string;
  /** The origins of its endpoints, by the name of the metadata's member. */
  readonly endpoints: Readonly<Record<string, string>>;
  readonly by: PinReason;
  /** ms since 1970. */
  readonly pinnedAt: number;
}

/** The client identity of the gateway at an authorization server. */
export interface ClientRegistration {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly tokenEndpointAuthMethod: "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";
  readonly source: "config" | "metadata_document" | "dynamic";
  /** Dynamic only: when it was made and when its secret expires (ms since 1970). */
  readonly registeredAt?: number;
  readonly secretExpiresAt?: number;
}

/** The tokens of a token response (RFC 6749, 5.1), times in ms since 1970. */
export interface TokenSet {
  readonly accessToken: string;
  readonly refreshToken?: string;
  readonly idToken?: string;
  /** `scope` of the response; undefined if it equals the requested one. */
  readonly scope?: string;
  readonly obtainedAt: number;
  /** Undefined if the response has no `expires_in`. */
  readonly expiresAt?: number;
}

/** The stored sign-in of one principal at one server: one record of the vault. */
export interface Credential {
  /** Grows by one with each write; the fencing token between processes. */
  readonly generation: number;
  readonly server: string;
  readonly principal: string;
  readonly issuer: string;
  /** The token is sent only there. */
  readonly resource: string;
  readonly client: ClientRegistration;
  /** The endpoints for refresh and sign-out, from the validated metadata. */
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
  /** The grant that obtained the token; it obtains the next one too. */
  readonly grant:
    | "authorization_code"
    | "device_code"
    | "client_credentials"
    | "jwt_bearer"
    | "token_exchange";
  /** Undefined if a new sign-in is needed: client and scopes are kept. */
  readonly tokens?: TokenSet;
  /** All scopes ever requested; a step-up requests these and those of the challenge. */
  readonly askedScopes: readonly string[];
  /** A refresh with this generation's refresh token was started (ms since 1970) and its result not written. */
  readonly refreshBegunAt?: number;
  /** `sub` of the ID token, if there was one. */
  readonly subject?: string;
}

/** The credentials of all principals, on disk. Every method is crash-safe. */
export interface Vault {
  /** @throws VaultError if the record exists and cannot be used (permissions, key, damage); says what to do. */
  read(server: string, principal: string): Promise<Credential | undefined>;
  /**
   * Writes a record of the next generation, durably. @throws VaultError, e.g. on a full disk; the previous record
   * stays.
   */
  write(credential: Credential): Promise<void>;
  remove(server: string, principal: string): Promise<void>;
  /** Every readable record, without its tokens. */
  list(): Promise<readonly Omit<Credential, "tokens">[]>;
  /** The dynamic registration at `issuer` for `redirectUri`, and how to store or delete it. */
  readClient(issuer: string, redirectUri: string): Promise<ClientRegistration | undefined>;
  writeClient(issuer: string, redirectUri: string, client: ClientRegistration): Promise<void>;
  removeClient(issuer: string, redirectUri: string): Promise<void>;
  /** The authorization server that `server` is bound to; undefined before its first sign-in. */
  readPin(server: string, origin: string): Promise<IssuerPin | undefined>;
  /** Replaces the pin by the result of `update`, which may throw; one update at a time in all processes. */
  updatePin(
    server: string,
    origin: string,
    update: (kept: IssuerPin | undefined) => IssuerPin,
  ): Promise<IssuerPin>;
  /** Replaces the pin, whatever it is. */
  writePin(pin: IssuerPin): Promise<void>;
  /** Runs `task` while no other task of any process of this state directory holds the lock of the record. */
  locked<T>(server: string, principal: string, task: () => Promise<T>): Promise<T>;
}
