/** Which errors does the gateway itself raise, and with which JSON-RPC code and HTTP status? */

/** The refusal words: part of the public interface, used by dashboards and clients. */
export type ErrorCode =
  | "bad_request"
  | "unauthenticated"
  | "forbidden"
  | "unknown_target"
  | "denied"
  | "approval_declined"
  | "rate_limited"
  | "queue_full"
  | "timed_out"
  | "cancelled"
  | "upstream_unavailable"
  | "upstream_closed"
  | "upstream_rejected"
  | "outcome_unknown"
  | "state_rejected"
  | "too_large"
  | "quarantined"
  | "overloaded";

/**
 * The JSON-RPC code and the HTTP status of each refusal. Codes below -32000 are those that JSON-RPC and MCP
 * define; the others are Cardea's own and stand outside the reserved range, as the specification asks
 * (2026-07-28, basic/index, "Error Codes").
 */
export const ERRORS: Readonly<Record<ErrorCode, { readonly rpc: number; readonly http: number }>> = {
  bad_request: { rpc: -32600, http: 400 },
  unauthenticated: { rpc: -31401, http: 401 },
  forbidden: { rpc: -31403, http: 403 },
  unknown_target: { rpc: -32602, http: 200 },
  denied: { rpc: -31403, http: 200 },
  approval_declined: { rpc: -31403, http: 200 },
  rate_limited: { rpc: -31429, http: 200 },
  queue_full: { rpc: -31429, http: 200 },
  timed_out: { rpc: -31504, http: 200 },
  cancelled: { rpc: -31499, http: 200 },
  upstream_unavailable: { rpc: -31503, http: 200 },
  upstream_closed: { rpc: -31502, http: 200 },
  upstream_rejected: { rpc: -31502, http: 200 },
  outcome_unknown: { rpc: -31502, http: 200 },
  state_rejected: { rpc: -32602, http: 200 },
  too_large: { rpc: -31413, http: 413 },
  quarantined: { rpc: -31403, http: 200 },
  overloaded: { rpc: -31503, http: 503 },
};

/** Optional facts about a `GatewayError`. */
export interface GatewayErrorOptions {
  readonly cause?: unknown;
  /** Whether trying the same again can help. */
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  /** The server itself answered with this error: the request is not retried. */
  readonly answered?: boolean;
  /** The supervisor is reconnecting with a backoff: the circuit breaker does not count the error. */
  readonly supervised?: boolean;
  /** The rule or limit that refused, by name. */
  readonly rule?: string;
  /** The server it is about, by its key in the config. */
  readonly server?: string;
  /** OAuth scopes that would allow the call. */
  readonly scopes?: readonly string[];
  /** A JSON-RPC code more exact than the one in the table, such as -32601. */
  readonly rpc?: number;
  /** Further members of the error's `data`, such as `{ uri }`. */
  readonly data?: { readonly [key: string]: unknown };
}

/** An error of the gateway itself. Its message is one sentence and contains no secrets. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly retryable: boolean;
  readonly options: GatewayErrorOptions;
  constructor(
    readonly code: ErrorCode,
    readonly source: "downstream" | "gateway" | "upstream",
    message: string,
    options: GatewayErrorOptions = {},
  ) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable ?? false;
    this.options = options;
  }
}
