/** How a refusal looks to a client: the same few facts in every form, so that nobody has to read sentences. */
import type { RpcError } from "../wire/envelope.js";
import { CODE } from "../wire/names.js";
import { Payload } from "../wire/payload.js";
import type { Call, Reply, RouteKind } from "./call.js";
import { ERRORS, type ErrorCode, GatewayError } from "./errors.js";
import { LISTS, type ListKind } from "./lists.js";

/** What stands in `data.cardea` of an error, and in `_meta["cardea/refusal"]` of a tool's result. */
export interface Refusal {
  readonly code: ErrorCode;
  /** The rule or limit that refused, by name. */
  readonly rule?: string;
  /** The server it is about, by its key in the config. */
  readonly server?: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
}

export const REFUSAL_META = "cardea/refusal";

/** The facts of `error`; `server` is filled in where the error names none. */
export function refusalOf(error: GatewayError, server?: string): Refusal {
  const { rule, retryAfterMs } = error.options;
  const about = error.options.server ?? server;
  return {
    code: error.code,
    ...(rule !== undefined && { rule }),
    ...(about !== undefined && { server: about }),
    retryable: error.retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs: Math.ceil(retryAfterMs) }),
  };
}

/** The JSON-RPC error that says `error`. */
export function refusalError(error: GatewayError): RpcError {
  return {
    code: error.options.rpc ?? ERRORS[error.code].rpc,
    message: error.message,
    data: { ...error.options.data, cardea: refusalOf(error) },
  };
}

/**
 * The reply that says `error` to whoever made `call`.
 *
 * A tool call that had found its tool gets a result, because that is what a model reads and can act on; all
 * else gets a JSON-RPC error. So does a tool call where the wire has a say: a tool that is hidden must look
 * like one that does not exist, a state that fails verification is invalid parameters, a token that grants too
 * little is a matter of HTTP, and whoever chose a JSON-RPC code of their own meant it to be seen.
 */
export function refusalReply(error: GatewayError, call: Call): Reply {
  if (call.method !== "tools/call" || call.route === undefined || isProtocolError(error)) {
    const { scopes } = error.options;
    const said = { kind: "error", error: refusalError(error), refusal: error.code } as const;
    return scopes === undefined ? said : { ...said, scopes };
  }
  const result = Payload.ofObject({
    content: [{ type: "text", text: refusalText(error) }],
    isError: true,
    _meta: { [REFUSAL_META]: refusalOf(error, call.route.upstream) },
  });
  return { kind: "result", result, refusal: error.code };
}

/** What was refused, and whether trying again can help. */
export const refusalText = (error: GatewayError): string =>
  `${withFullStop(error.message)} ${retryAdvice(error)}`;

/** The one wording for a target that is not there, or not there for this client. */
export function unknownTarget(kind: RouteKind, name: string): GatewayError {
  if (kind === "methods") return unknownMethod(name);
  return new GatewayError("unknown_target", "downstream", `unknown ${LISTS[kind].noun}: ${shortened(name)}`, {
    // Since 2026-07-28 a missing resource is invalid parameters and names its URI (server/resources, "Error Handling").
    ...(kind === "resources" && { data: { uri: name } }),
  });
}

/** What several servers list under one name belongs to none of them; at the path of one alone it is that one's. */
export function ambiguousTarget(kind: ListKind, name: string, servers: readonly string[]): GatewayError {
  const { code, source, options } = unknownTarget(kind, name);
  const message = `several servers have the ${LISTS[kind].noun} ${shortened(name)}: ${servers.join(", ")}; ask one of them alone, at its own path`;
  return new GatewayError(code, source, message, options);
}

/** A method of nobody, which is told apart from a target of nobody. */
export function unknownMethod(method: string): GatewayError {
  return new GatewayError("unknown_target", "downstream", `method ${shortened(method)} is not served here`, {
    rpc: CODE.methodNotFound,
  });
}

/** A method that several servers of the caller's view could be asked to serve. Which of them it is for, nobody guesses. */
export function ambiguousMethod(method: string, servers: readonly string[]): GatewayError {
  const { code, source, options } = unknownMethod(method);
  const message = `several servers could be meant by method ${shortened(method)}: ${servers.join(", ")}; ask one of them alone, at its own path`;
  return new GatewayError(code, source, message, options);
}

const isProtocolError = ({ code, options }: GatewayError): boolean =>
  code === "unknown_target" ||
  code === "state_rejected" ||
  options.rpc !== undefined ||
  options.scopes !== undefined;

/**
 * The server had the call, and nobody knows whether it did what it was asked: that another attempt can come through is
 * no reason to tell a model to make it.
 */
const MAY_HAVE_RUN: ReadonlySet<ErrorCode> = new Set(["upstream_closed", "outcome_unknown"]);
const CHECK_FIRST = "It may have been carried out all the same: check before trying again.";

function retryAdvice(error: GatewayError): string {
  const { retryAfterMs } = error.options;
  if (MAY_HAVE_RUN.has(error.code)) return CHECK_FIRST;
  if (error.retryable && retryAfterMs !== undefined) {
    return `Trying again can help in ${Math.max(1, Math.ceil(retryAfterMs / 1000))} s.`;
  }
  if (error.retryable) return "Trying again may help.";
  if (error.code === "timed_out") return CHECK_FIRST;
  if (error.code === "bad_request") return "The same again will not help; corrected arguments may.";
  return "Trying again will not help.";
}

const withFullStop = (sentence: string): string => (/[.!?]$/.test(sentence) ? sentence : `${sentence}.`);
const shortened = (name: string): string => (name.length <= 200 ? name : `${name.slice(0, 200)}…`);
