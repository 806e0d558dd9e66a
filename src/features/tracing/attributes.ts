/** Span attributes of a call (OpenTelemetry, semantic conventions of MCP). */

import type { Call, Reply } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import { type Target, targetOf } from "../../core/methods.js";
import { redactedStart, shortText } from "../../core/short-text.js";
import { methodLabel, outcomeOf } from "../../telemetry/finished-calls.js";
import { codeOf, idKeyOf, type MessageId } from "../../wire/envelope.js";
import { type Attributes, type KIND, quoted } from "./span.js";

/** Limit (characters) of a text chosen by a peer. */
const MAX_TEXT = 1_000;
/** Error codes of client faults, which are not server errors. */
const CLIENT_FAULTS: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602, -32002]);
const TOOL_ERROR = "tool_error";
const OTHER_ERROR = "_OTHER";

/** Redacts secrets. */
export type Redact = (text: string) => string;

/** The error; `type` is `error.type`. */
interface Failure {
  readonly type: string;
  readonly message: string | undefined;
}

/** The outcome of a call, for its span. */
export interface Ending {
  readonly outcome: string;
  /** The JSON-RPC error code. */
  readonly code: number | undefined;
  readonly failure: Failure | undefined;
}

/** The outcome for the server span: faults of the host are not errors. */
export function endedForHost(call: Call, reply: Reply, redact: Redact): Ending {
  const ending = endedForServer(call, reply, redact);
  const isClientFault = ending.code !== undefined && CLIENT_FAULTS.has(ending.code);
  return isClientFault ? { ...ending, failure: undefined } : ending;
}

/** The outcome for the client span. */
export function endedForServer(call: Call, reply: Reply, redact: Redact): Ending {
  const outcome = outcomeOf(call, reply);
  if (reply.kind === "error") {
    const code = codeOf(reply.error);
    const message = redactedStart(redact, reply.error.message, MAX_TEXT);
    return { outcome, code, failure: { type: String(code), message } };
  }
  // A refusal in the form of a tool result has `isError`.
  const isError = outcome === TOOL_ERROR || (reply.kind === "result" && reply.refusal !== undefined);
  return { outcome, code: undefined, failure: isError ? TOOL_FAILURE : undefined };
}

const TOOL_FAILURE: Failure = { type: TOOL_ERROR, message: undefined };

/** The outcome of a call without a response. */
export function endedWithout(error: unknown, redact: Redact): Ending {
  const known = error instanceof GatewayError ? error : undefined;
  const message = known === undefined ? undefined : redactedStart(redact, known.message, MAX_TEXT);
  return { outcome: known?.code ?? TOOL_ERROR, code: undefined, failure: { type: OTHER_ERROR, message } };
}

/** The content of one span of a call; mostly the same for calls of one tool. */
export interface Operation {
  readonly kind: (typeof KIND)[keyof typeof KIND];
  readonly method: string;
  /** Whether a server has the target. */
  readonly isRouted: boolean;
  readonly target: Target | undefined;
  readonly revision: string | undefined;
  /** Undefined if nothing was sent. */
  readonly isHttp: boolean | undefined;
  readonly ending: Ending;
  /** The server's key in the config; "" if none owns the target. */
  readonly server: string;
  /** The address of the server. */
  readonly address?: Attributes | undefined;
}

/** The target as named by the host. */
export const exposedTarget = ({ method, params, route }: Call): Target | undefined => {
  const sent = targetOf(method, params);
  return sent === undefined || route === undefined ? sent : { kind: sent.kind, name: route.exposed };
};

/** The target under the server's own name. */
export const ownTarget = ({ method, params }: Call): Target | undefined => targetOf(method, params);

/** The span name, of low cardinality: without URIs and unknown names. */
export function spanName({ method, isRouted, target }: Operation): string {
  if (!isRouted) return methodLabel(method) === "other" ? "unknown method" : method;
  return target?.kind === "tools" || target?.kind === "prompts" ? `${method} ${target.name}` : method;
}

/** The attributes of a span; absent ones are omitted. */
export function operationAttributes(operation: Operation, redact: Redact): Attributes {
  const { method, target, isRouted, revision, isHttp, ending, server, address } = operation;
  const attributes: Attributes = { "mcp.method.name": method.slice(0, MAX_TEXT) };
  if (method === "tools/call") attributes["gen_ai.operation.name"] = "execute_tool";
  if (target !== undefined) {
    const name = isRouted ? shortText(target.name, MAX_TEXT) : redactedStart(redact, target.name, MAX_TEXT);
    if (target.kind === "tools") attributes["gen_ai.tool.name"] = name;
    else if (target.kind === "prompts") attributes["gen_ai.prompt.name"] = name;
    else attributes["mcp.resource.uri"] = redactedStart(redact, target.name, MAX_TEXT);
  }
  if (revision !== undefined) attributes["mcp.protocol.version"] = revision;
  if (isHttp === true) {
    attributes["network.transport"] = "tcp";
    attributes["network.protocol.name"] = "http";
    attributes["network.protocol.version"] = "1.1";
  } else if (isHttp === false) attributes["network.transport"] = "pipe";
  if (server !== "") attributes["cardea.server"] = server;
  attributes["cardea.outcome"] = ending.outcome;
  if (ending.code !== undefined) attributes["rpc.response.status_code"] = String(ending.code);
  if (ending.failure !== undefined) attributes["error.type"] = ending.failure.type;
  return { ...attributes, ...address };
}

/** The attributes of one request only, as text: separated by commas; "" if there are none. */
export function requestText(
  requestId: MessageId | undefined,
  sessionId: string | undefined,
  rule?: string,
): string {
  const ofRule = rule === undefined ? "" : `{"key":"cardea.rule","value":{"stringValue":${quoted(rule)}}}`;
  if (requestId === undefined) return ofRule;
  const id =
    typeof requestId === "number" ? `"${requestId}"` : quoted(String(idKeyOf(requestId)).slice(0, MAX_TEXT));
  let text = `{"key":"jsonrpc.request.id","value":{"stringValue":${id}}}`;
  if (sessionId !== undefined)
    text += `,{"key":"mcp.session.id","value":{"stringValue":${quoted(sessionId)}}}`;
  return rule === undefined ? text : `${text},${ofRule}`;
}
