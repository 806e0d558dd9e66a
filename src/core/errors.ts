/** What the gateway itself refuses or fails at: the stable words, whose fault it is, and what goes on the wire. */

/** The stable words of a refusal; users, dashboards and tests rely on them. */
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

export interface GatewayErrorOptions {
  readonly cause?: unknown;
  /** Whether trying the same again can help. */
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  /** The server itself answered, and would answer the same request in the same way: it is not repeated. */
  readonly answered?: boolean;
  /** The connection is gone, and its supervisor opens it again after a backoff: the way to the server is its matter. */
  readonly supervised?: boolean;
  /** The rule or limit that refused, by name. */
  readonly rule?: string;
  /** The server it is about, by its key in the config. */
  readonly server?: string;
  /** A token that grants all of these would be let through. */
  readonly scopes?: readonly string[];
  /** A JSON-RPC code more exact than the one in the table, such as -32601. */
  readonly rpc?: number;
  /** Further members of the error's `data`, such as `{ uri }`. */
  readonly data?: { readonly [key: string]: unknown };
}

/** Anything the gateway itself refuses or fails at. Its message is a plain sentence without secrets in it. */
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
