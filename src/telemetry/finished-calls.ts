/** What do the access log and the metrics record of each finished call? Label values are from closed sets. */

import type { Call, Handler, Middleware, Observer, Reply } from "../core/call.js";
import { ERRORS, type ErrorCode, REFUSAL_META } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import { methodsWhere, targetOf } from "../core/methods.js";
import { shortText } from "../core/short-text.js";
import { traceIdOf } from "../core/trace-context.js";
import { codeOf } from "../wire/envelope.js";
import { isObject, objectAt, stringAt } from "../wire/json.js";
import { LabeledMetric } from "./labeled-metrics.js";

/** Outcomes of normal operation, which are logged at `debug`. */
const EXPECTED_OUTCOMES: ReadonlySet<string> = new Set(["ok", "tool_error", "input_required", "cancelled"]);
const MAX_TARGET_LENGTH = 200;

/**
 * Writes a line after each reply: at `debug` for expected outcomes, at `info` for refusals and JSON-RPC errors of servers.
 * Arguments and results are not logged; what a server says of its failure is, in `reason`. Must be outside `errorBoundary`, which turns refusals into replies.
 */
export function accessLog(logger: Logger): Observer {
  return {
    name: "accessLog",
    onEnd(call, reply, ms) {
      const outcome = outcomeOf(call, reply);
      const isServerError = reply.kind === "error" && reply.refusal === undefined;
      const isQuiet = EXPECTED_OUTCOMES.has(outcome) && !isServerError;
      if (isQuiet && logger.skipsDebug === true) return;
      const line = {
        call: call.id,
        method: shortText(call.method, MAX_TARGET_LENGTH),
        target: targetName(call),
        upstream: serverOf(call, reply),
        principal: call.client.principal.id,
        outcome,
        ms: Math.round(ms * 100) / 100,
        ...traceField(call),
        ...(call.via !== undefined && { via: call.via }),
      };
      if (isQuiet) {
        logger.debug(line, "call");
        return;
      }
      const rule = refusingRule(reply);
      const reason = failureOfServer(reply);
      logger.info(
        { ...line, ...(rule !== undefined && { rule }), ...(reason !== undefined && { reason }) },
        "call",
      );
    },
  };
}

/** Refusals because of a server, whose text says what it answered. */
const FAILURES_OF_SERVERS: ReadonlySet<string> = new Set<ErrorCode>([
  "upstream_rejected",
  "upstream_unavailable",
  "upstream_closed",
  "too_large",
]);
const MAX_REASON_LENGTH = 500;

/** The text of the refusal, which its host receives. */
function failureOfServer(reply: Reply): string | undefined {
  if (reply.kind === "input_required" || !FAILURES_OF_SERVERS.has(reply.refusal ?? "")) return undefined;
  if (reply.kind === "error") return shortText(reply.error.message, MAX_REASON_LENGTH);
  const { content } = reply.result.object;
  const [block]: unknown[] = Array.isArray(content) ? content : [];
  const text = isObject(block) ? stringAt(block, "text") : undefined;
  return text === undefined ? undefined : shortText(text, MAX_REASON_LENGTH);
}

/** The field of a log line with the trace of the call, where it has one. */
function traceField(call: Call): { readonly traceId?: string } {
  const traceId = traceIdOf(call);
  return traceId === undefined ? {} : { traceId };
}

/** The name or URI of the target in the gateway as a whole, by whichever path it is called, cut; undefined for a method without one. */
export const targetName = (call: Call): string | undefined =>
  shortened(call.route?.aggregateName ?? call.route?.exposed ?? targetOf(call.method, call.params)?.name);

const shortened = (name: string | undefined): string | undefined =>
  name === undefined ? undefined : shortText(name, MAX_TARGET_LENGTH);

/**
 * Must be outside `errorBoundary`, which turns refusals into replies. A round that ends in `input_required` counts as
 * a call; the time until the host resumes it is in no call.
 */
export function callMetrics(metrics: CallMetrics): Observer {
  return {
    name: "callMetrics",
    onEnd(call, reply, ms) {
      const outcome = outcomeOf(call, reply);
      const finished = finishedCall(
        call,
        ms - (call.record?.heldMs ?? 0),
        serverSideError(reply, outcome),
        reply,
      );
      metrics.callFinished(finished, outcome);
    },
  };
}

/** Times the calls to one server without queueing; must be the innermost middleware. */
export function upstreamMetrics(metrics: CallMetrics): Middleware {
  return (next: Handler): Handler =>
    function upstreamMetrics(call) {
      const start = performance.now();
      const elapsed = (): number => {
        const ms = performance.now() - start;
        if (call.record !== undefined) call.record.upstreamMs += ms;
        return ms;
      };
      const answered = (reply: Reply): Reply => {
        metrics.upstreamCallFinished(finishedCall(call, elapsed(), clientSideError(call, reply)));
        return reply;
      };
      const failed = (error: unknown): never => {
        metrics.upstreamCallFinished(finishedCall(call, elapsed(), "_OTHER"));
        throw error;
      };
      return next(call).then(answered, failed);
    };
}

function finishedCall(call: Call, ms: number, error: string | undefined, reply?: Reply): FinishedCall {
  return {
    method: methodLabel(call.method),
    server: serverLabel(call, reply),
    tool: call.method === "tools/call" ? (call.route?.target ?? "") : "",
    seconds: ms / 1000,
    ...(error !== undefined && { errorType: error }),
    traceId: call.record?.span === undefined ? undefined : call.record.traceId,
  };
}

/** Codes of client errors, which a server does not count as its own (OpenTelemetry MCP conventions). */
const CLIENT_ERROR_CODES: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602, -32002]);

function serverSideError(reply: Reply, outcome: Outcome): string | undefined {
  if (reply.kind === "error") {
    const code = codeOf(reply.error);
    return CLIENT_ERROR_CODES.has(code) ? undefined : errorType(code);
  }
  if (outcome === "ok" || outcome === "input_required") return undefined;
  // A refusal in the form of a tool result is labelled by its code.
  return outcome === "tool_error" ? "tool_error" : errorType(ERRORS[outcome].rpc);
}

function clientSideError(call: Call, reply: Reply): string | undefined {
  if (reply.kind === "error") return errorType(codeOf(reply.error));
  return outcomeOf(call, reply) === "tool_error" ? "tool_error" : undefined;
}

/** Buckets that OpenTelemetry recommends for MCP durations, in seconds. */
export const BUCKETS: number[] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const OPERATION = ["mcp_method_name", "gen_ai_tool_name", "error_type"] as const;
/** How many tools of a server are counted apart. */
export const TOOLS_PER_SERVER = 200;

/** The labels and duration of a call. */
export interface FinishedCall {
  /** From `methodLabel`. */
  readonly method: string;
  /** The key of a configured server, or `none`. */
  readonly server: string;
  /** The server's own name of the tool; "" for other methods. */
  readonly tool: string;
  readonly seconds: number;
  /** `error.type` of OpenTelemetry; absent for success. */
  readonly errorType?: string;
  /** Of a call that is traced. */
  readonly traceId?: string | undefined;
}

/** The metrics that every call updates. */
export class CallMetrics {
  readonly #tools = new CappedLabel(TOOLS_PER_SERVER);
  readonly #requests = new LabeledMetric({
    name: "cardea_requests_total",
    help: "Calls of hosts, by outcome.",
    labels: ["method", "server", "outcome"],
  });
  readonly #durations = new LabeledMetric({
    name: "cardea_request_duration_seconds",
    help: "Time from a host's call to its reply, without waiting for a person or a model.",
    labels: ["method", "server", "tool"],
    buckets: BUCKETS,
  });
  readonly #serverOperations = new LabeledMetric({
    name: "mcp_server_operation_duration_seconds",
    help: "OpenTelemetry mcp.server.operation.duration: calls of hosts, seen as their server.",
    labels: OPERATION,
    buckets: BUCKETS,
  });
  readonly #clientOperations = new LabeledMetric({
    name: "mcp_client_operation_duration_seconds",
    help: "OpenTelemetry mcp.client.operation.duration: calls to servers, seen as their client.",
    labels: OPERATION,
    buckets: BUCKETS,
  });

  /** A call of a host has its reply. */
  callFinished(call: FinishedCall, outcome: Outcome): void {
    const { method, server, seconds, traceId } = call;
    const tool = call.tool === "" ? "" : this.#tools.of(server, call.tool);
    this.#requests.add(method, server, outcome);
    this.#durations.add(method, server, tool, seconds, traceId);
    this.#serverOperations.add(method, tool, call.errorType ?? "", seconds, traceId);
  }

  /** A server has answered a call, or failed to. */
  upstreamCallFinished(call: FinishedCall): void {
    const tool = call.tool === "" ? "" : this.#tools.of(call.server, call.tool);
    this.#clientOperations.add(call.method, tool, call.errorType ?? "", call.seconds, call.traceId);
  }

  /**
   * How often each tool of a server was called, by its own name, refused calls included; undefined where more tools were
   * called than are counted apart.
   */
  toolCalls(server: string): ReadonlyMap<string, number> | undefined {
    const counts = this.#durations.counts("tools/call", server);
    return counts.has(OTHER_TOOLS) ? undefined : counts;
  }

  /** In the text format of Prometheus, with exemplars. */
  get text(): string {
    const all = [this.#requests, this.#durations, this.#serverOperations, this.#clientOperations];
    return all.map(({ text }) => text).join("\n");
  }
}

/** Methods of hosts. */
const COUNTED_METHODS = methodsWhere(({ answeredBy }) => answeredBy !== "host");

/** A method of hosts that MCP knows, or `other`. */
export const methodLabel = (method: string): string => (COUNTED_METHODS.has(method) ? method : "other");

/** The configured server of a call; else the one that `reply` names as unavailable; else `none`. */
export const serverLabel = (call: Call, reply?: Reply): string => serverOf(call, reply) ?? "none";

/** The server of a call: its own, or the one that `reply` says is unavailable; undefined where there is none. */
export const serverOf = (call: Call, reply?: Reply): string | undefined =>
  ownerOf(call) ?? unavailableServer(reply);

/** The server of the call; undefined where it has none, as the gateway's own tools. */
const ownerOf = ({ route }: Call): string | undefined => route?.upstream || undefined;

/** The rule or limit that refused the call. */
export function refusingRule(reply: Reply | undefined): string | undefined {
  if (reply?.kind === "result" && reply.refusal !== undefined)
    return stringAt(objectAt(objectAt(reply.result.object, "_meta"), REFUSAL_META), "rule");
  if (reply?.kind !== "error" || reply.refusal === undefined || !isObject(reply.error.data)) return undefined;
  return stringAt(objectAt(reply.error.data, "cardea"), "rule");
}

/** The refusals of a call whose target is not known yet, because its server cannot list it. */
const WITHOUT_LIST: ReadonlySet<string> = new Set<ErrorCode>(["upstream_unavailable", "sign_in_required"]);

/** The server that such a refusal of the gateway names: always a key of the config. */
function unavailableServer(reply: Reply | undefined): string | undefined {
  if (reply === undefined || reply.kind === "input_required" || !WITHOUT_LIST.has(reply.refusal ?? ""))
    return undefined;
  if (reply.kind === "result")
    return stringAt(objectAt(objectAt(reply.result.object, "_meta"), REFUSAL_META), "server");
  const { data } = reply.error;
  return isObject(data) ? stringAt(objectAt(data, "cardea"), "server") : undefined;
}

/** Codes of the gateway, of JSON-RPC and of all MCP revisions. */
const ERROR_TYPES: ReadonlySet<number> = new Set([
  ...Object.values(ERRORS).map(({ rpc }) => rpc),
  -32700,
  -32603,
  -32602,
  -32601,
  -32600,
  -32042,
  -32022,
  -32021,
  -32020,
  -32002,
]);

/** `error.type` of the OpenTelemetry MCP conventions: the JSON-RPC code, or `_OTHER` for unknown ones. */
const errorType = (code: number): string => (ERROR_TYPES.has(code) ? String(code) : "_OTHER");

/** Limit (characters) of a label value, which is repeated in every series. */
const MAX_LABEL_LENGTH = 200;

/** The label of tools that are not counted apart. */
const OTHER_TOOLS = "__other__";

/** Keeps the first `limit` values per owner; later and overlong ones become `__other__`. */
export class CappedLabel {
  readonly #seen = new Map<string, Set<string>>();
  constructor(readonly limit: number) {}

  of(owner: string, value: string): string {
    let seen = this.#seen.get(owner);
    if (seen === undefined) {
      seen = new Set();
      this.#seen.set(owner, seen);
    }
    if (seen.has(value)) return value;
    if (seen.size >= this.limit || value.length > MAX_LABEL_LENGTH) return OTHER_TOOLS;
    seen.add(value);
    return value;
  }
}

/** How a call ended; see `outcomeOf`. */
export type Outcome = "ok" | "tool_error" | "input_required" | ErrorCode;

/**
 * `ok`; `input_required` (one round of several); the refusal word; or `tool_error`: a result with `isError`, or a JSON-RPC error of
 * the server. One closed set for metrics, log lines, spans, the audit log and call records.
 */
export function outcomeOf(call: Call, reply: Reply): Outcome {
  if (reply.kind === "input_required") return "input_required";
  if (reply.refusal !== undefined) return isErrorCode(reply.refusal) ? reply.refusal : "tool_error";
  if (reply.kind === "error") return "tool_error";
  return call.method === "tools/call" && saysIsError(reply) ? "tool_error" : "ok";
}

const isErrorCode = (word: string): word is ErrorCode => Object.hasOwn(ERRORS, word);

function saysIsError({ result }: Extract<Reply, { kind: "result" }>): boolean {
  if (result.parsed !== undefined) return result.parsed.isError === true;
  if (!result.mayContain('"isError"')) return false;
  // Many servers write `"isError":false` into every result, and parsing a large one would cost more than forwarding it.
  // Serializers in use write no space or one after the colon.
  if (!result.mayContain('"isError":true') && !result.mayContain('"isError": true')) return false;
  return result.object.isError === true;
}
