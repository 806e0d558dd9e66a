/** An OAuth error response. */

/** The used codes of RFC 6749, RFC 7591, RFC 8707 and RFC 7009. */
export type OAuthErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "invalid_target"
  | "invalid_redirect_uri"
  | "invalid_client_metadata"
  | "unauthorized_client"
  | "unsupported_response_type"
  | "unsupported_grant_type"
  | "unsupported_token_type"
  | "access_denied"
  | "consent_required"
  | "server_error"
  | "temporarily_unavailable";

/** A refusal. The message is shown to people and hosts and contains no secret. */
export class OAuthError extends Error {
  override readonly name = "OAuthError";
  constructor(
    readonly code: OAuthErrorCode,
    message: string,
    readonly details: {
      /** Default 400. */
      readonly status?: number;
      readonly retryAfterS?: number;
      /** Whether the request had a code or token of this gateway: it counts for that sign-in, not for its address. */
      readonly isOfGrant?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
  }

  /** The same refusal, of a request that had a code or token of this gateway. */
  ofGrant(): OAuthError {
    return new OAuthError(this.code, this.message, { ...this.details, isOfGrant: true });
  }

  /** The HTTP status of the response. */
  get status(): number {
    return this.details.status ?? 400;
  }
}

/** `error_description` allows only some ASCII characters (RFC 6749, 5.2). */
export const descriptionOf = ({ message }: Error): string =>
  message.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "?");
