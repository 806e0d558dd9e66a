/** Which errors does the gateway itself raise, and what does a client receive for them? */
import type { RpcError } from "../wire/envelope.js";
import type { JsonObject } from "../wire/json.js";
import { CODE } from "../wire/names.js";
import { Payload } from "../wire/payload.js";
import type { Call, Reply, RouteKind } from "./call.js";
import { LISTS, type ListKind } from "./lists.js";
import { signInCommand } from "./sign-in-command.js";

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
  | "sign_in_required"
  | "audit_unavailable"
  | "result_gone"
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
  sign_in_required: { rpc: -31401, http: 200 },
  audit_unavailable: { rpc: -31503, http: 200 },
  result_gone: { rpc: -31404, http: 200 },
  overloaded: { rpc: -31503, http: 503 },
};

/** Optional facts about a `GatewayError`. */
export interface GatewayErrorOptions {
  readonly cause?: unknown;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  /** Whether the server itself answered with this error: true, and the request is not retried; false, and it may have run. */
  readonly answered?: boolean;
  /** The supervisor is reconnecting with a backoff: the circuit breaker does not count the error. */
  readonly supervised?: boolean;
  /** The rule or limit that refused, by name. */
  readonly rule?: string;
  /** The server it is about, by its key in the config. */
  readonly server?: string;
  /** A word that tells apart refusals of the same code, such as `expired`. */
  readonly reason?: string;
  /** OAuth scopes that would allow the call. */
  readonly scopes?: readonly string[];
  /** With `sign_in_required`: where the person signs in, where there is such a page. */
  readonly signInUrl?: string;
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

/** Refusals that a call gets before its server receives it. */
const BEFORE_SERVER: ReadonlySet<ErrorCode> = new Set(["queue_full", "upstream_unavailable", "overloaded"]);

/** Whether the call was refused before its server received it: it is charged nothing, and its round can be used again. */
export const reachedNoServer = (error: unknown): boolean =>
  error instanceof GatewayError && BEFORE_SERVER.has(error.code);

/** The refusal of a request that is malformed, or not allowed in its place. */
export const badRequest = (message: string, options?: GatewayErrorOptions): GatewayError =>
  new GatewayError("bad_request", "downstream", message, options);

/** The refusal (-32020) of a request whose headers contradict its body or each other. */
export const headerMismatch = (what: string): GatewayError =>
  badRequest(`Header mismatch: ${what}`, { rpc: CODE.headerMismatch });

/** The refusal of what the gateway has no capacity for now; `retryAfterMs` is when a retry can help. */
export const overloaded = (message: string, retryAfterMs = 5_000): GatewayError =>
  new GatewayError("overloaded", "gateway", message, { retryable: true, retryAfterMs });

/** `data.cardea` of an error, and `_meta["cardea/refusal"]` of a tool result. */
interface Refusal {
  readonly code: ErrorCode;
  /** The rule or limit that refused, by name. */
  readonly rule?: string;
  /** The server it is about, by its key in the config. */
  readonly server?: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  /** A word that tells apart refusals of the same code, such as `expired`. */
  readonly reason?: string;
}

/** The `_meta` key of a refusal in a tool result. */
export const REFUSAL_META = "cardea/refusal";

/** The `_meta` key of a tool result that a sign-in would have made a better one: `{ server, url }`; also in `data` of errors. */
const SIGN_IN_META = "cardea/sign-in";

/** The refusal of a call whose principal has not signed in at `server`; `as` is the argument of the command for that principal. */
export const signInRequired = (server: string, as?: string): GatewayError =>
  new GatewayError(
    "sign_in_required",
    "upstream",
    `${server} needs a sign-in: run "${signInCommand(server, as)}"`,
    { server },
  );

/** Server and page of the sign-in that `error` asks for; nothing where there is no page. */
function signInMeta({ options: { server, signInUrl } }: GatewayError): JsonObject {
  return server === undefined || signInUrl === undefined
    ? {}
    : { [SIGN_IN_META]: { server, url: signInUrl } };
}

/** The facts of `error`; `server` is filled in where the error names none. */
export function refusalOf(error: GatewayError, server?: string): Refusal {
  const { rule, retryAfterMs, reason } = error.options;
  // A call that the gateway answers itself has a route without a server.
  const about = (error.options.server ?? server) || undefined;
  return {
    code: error.code,
    ...(rule !== undefined && { rule }),
    ...(about !== undefined && { server: about }),
    retryable: error.retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs: Math.ceil(retryAfterMs) }),
    ...(reason !== undefined && { reason }),
  };
}

/** `error` as a JSON-RPC error. */
export function refusalError(error: GatewayError): RpcError {
  return {
    code: error.options.rpc ?? ERRORS[error.code].rpc,
    message: error.message,
    data: { ...error.options.data, cardea: refusalOf(error), ...signInMeta(error) },
  };
}

/**
 * `error` as the reply to `call`.
 *
 * A tool call that was routed gets a tool result, because models read results and not errors; other calls get a JSON-RPC
 * error. So does a tool call where the protocol defines the error: a hidden tool must look like an unknown one, an
 * invalid state is invalid parameters, missing scopes become an HTTP 403, and an error with its own JSON-RPC code keeps
 * that code.
 */
export function refusalReply(error: GatewayError, call: Call): Reply {
  // A tool of a server that lists none without a sign-in has no route yet.
  const isRouted = call.route !== undefined || error.code === "sign_in_required";
  if (call.method !== "tools/call" || !isRouted || isProtocolError(error)) {
    const { scopes } = error.options;
    const said = { kind: "error", error: refusalError(error), refusal: error.code } as const;
    return scopes === undefined ? said : { ...said, scopes };
  }
  const result = Payload.ofObject({
    content: [{ type: "text", text: refusalText(error) }],
    isError: true,
    _meta: { [REFUSAL_META]: refusalOf(error, call.route?.upstream), ...signInMeta(error) },
  });
  return { kind: "result", result, refusal: error.code };
}

/** What was refused, and whether a retry can help. */
export const refusalText = (error: GatewayError): string =>
  `${withFullStop(error.message)} ${retryAdvice(error)}`;

/** The error for a target that does not exist or is hidden from this client; the two must not differ. */
export function unknownTarget(kind: RouteKind, name: string): GatewayError {
  if (kind === "methods") return unknownMethod(name);
  return new GatewayError("unknown_target", "downstream", `unknown ${LISTS[kind].noun}: ${shortened(name)}`, {
    // Since 2026-07-28 a missing resource is invalid parameters and names its URI (server/resources, "Error Handling").
    ...(kind === "resources" && { data: { uri: name } }),
  });
}

/** A name listed by several servers is ambiguous; only `/mcp/NAME` resolves it. */
export function ambiguousTarget(kind: ListKind, name: string, servers: readonly string[]): GatewayError {
  const { code, source, options } = unknownTarget(kind, name);
  const message = `several servers have the ${LISTS[kind].noun} ${shortened(name)}: ${servers.join(", ")}; ask one of them alone, at its own path`;
  return new GatewayError(code, source, message, options);
}

/** The error (-32601) for a method that no server has; an unknown target gets -32602. */
export function unknownMethod(method: string): GatewayError {
  return new GatewayError("unknown_target", "downstream", `method ${shortened(method)} is not served here`, {
    rpc: CODE.methodNotFound,
  });
}

/** The error (-32601) for a method without a target that several servers may serve; the gateway does not guess. */
export function ambiguousMethod(method: string, servers: readonly string[]): GatewayError {
  const { code, source, options } = unknownMethod(method);
  const message = `several servers could be meant by method ${shortened(method)}: ${servers.join(", ")}; ask one of them alone, at its own path`;
  return new GatewayError(code, source, message, options);
}

/** The error for a call that its host cancelled while it waited for servers that start; `cause` says why. */
export const cancelledWhileStarting = (method: string, cause: unknown): GatewayError =>
  new GatewayError("cancelled", "downstream", `${method} was cancelled while servers were starting`, {
    cause,
  });

const isProtocolError = ({ code, options }: GatewayError): boolean =>
  code === "unknown_target" ||
  code === "state_rejected" ||
  options.rpc !== undefined ||
  options.scopes !== undefined;

/** The server may have run the call, and its outcome is unknown. */
const MAY_HAVE_RUN: ReadonlySet<ErrorCode> = new Set([
  "upstream_closed",
  "outcome_unknown",
  "timed_out",
  "audit_unavailable",
]);
const CHECK_FIRST = "It may have run: check before trying again.";

function retryAdvice(error: GatewayError): string {
  const { retryAfterMs, answered } = error.options;
  if (error.retryable && retryAfterMs !== undefined) {
    return `Retry in ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s.`;
  }
  if (error.retryable) return "A retry may help.";
  if (MAY_HAVE_RUN.has(error.code) || answered === false) return CHECK_FIRST;
  if (error.code === "sign_in_required") return "After the sign-in the same call will work.";
  if (error.code === "bad_request")
    return "A retry with the same arguments will not help; corrected arguments may.";
  return "A retry will not help.";
}

const withFullStop = (sentence: string): string => (/[.!?]$/.test(sentence) ? sentence : `${sentence}.`);
const shortened = (name: string): string => (name.length <= 200 ? name : `${name.slice(0, 200)}…`);
