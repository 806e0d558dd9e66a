/** The console's MCP client: revision 2026-07-28, repeating a request until all questions are answered. */
import { argumentAt, paramHeaders } from "../../wire/mirrored-headers.js";
import { META, MODERN_REVISION } from "../../wire/names.js";
import { Refused, send } from "../state/api.js";
import { readEvents } from "../state/event-stream.js";
import { headerValue } from "./header-value.js";
import type { Json } from "./json.js";

/** A server's question within a call. */
export interface InputRequest {
  readonly method: string;
  readonly params?: Json;
}

/** A tool call. */
export interface ToolCall {
  readonly name: string;
  readonly args: Json;
  /** The tool's schema, which may require that arguments are repeated in headers. */
  readonly inputSchema: unknown;
  readonly signal: AbortSignal;
  /** Answers a question; undefined cancels the call. */
  readonly answer: (request: InputRequest, key: string) => Promise<Json | undefined>;
  /** Called with each progress notification and log message. */
  readonly onNotice: (text: string) => void;
}

/** The outcome of a call. */
export type Outcome =
  | { readonly kind: "result"; readonly result: Json }
  | { readonly kind: "error"; readonly code: number; readonly message: string }
  | { readonly kind: "given_up" };

const MAX_ROUNDS = 50;
/** Rounds that only return a state, without questions. */
const RETRY_MS = 500;
/** What the page answers: tools that ask are listed to it, too. */
export const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {} };

/** Calls a tool as the principal `operator`. @throws TokenNeeded, Refused; TypeError when the connection is lost */
export async function callTool(call: ToolCall): Promise<Outcome> {
  let more: Json = {};
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const message = await exchange(round, call, more);
    const error = message.error as { code: number; message: string } | undefined;
    if (error !== undefined) return { kind: "error", code: error.code, message: error.message };
    const result = message.result as Json;
    if (result.resultType !== "input_required") return { kind: "result", result };
    const requests = Object.entries((result.inputRequests ?? {}) as Readonly<Record<string, InputRequest>>);
    const inputResponses: Record<string, Json> = {};
    for (const [key, request] of requests) {
      const response = await call.answer(request, key);
      if (response === undefined) return { kind: "given_up" };
      inputResponses[key] = response;
    }
    if (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    const state = result.requestState;
    more = {
      ...(requests.length > 0 && { inputResponses }),
      ...(state !== undefined && { requestState: state }),
    };
  }
  throw new Refused(`the server asked more than ${MAX_ROUNDS} times`);
}

/** Sends one request, and reads its response. */
async function exchange(id: number, call: ToolCall, more: Json): Promise<Json> {
  const { name, args, signal, onNotice } = call;
  const _meta = {
    [META.protocolVersion]: MODERN_REVISION,
    [META.clientInfo]: { name: "cardea-console", version: "1" },
    [META.clientCapabilities]: CAPABILITIES,
    [META.logLevel]: "info",
    [META.progressToken]: "call",
  };
  const body = {
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, arguments: args, ...more, _meta },
  };
  const response = await send("/api/v1/mcp", {
    method: "POST",
    headers: headersOf(call),
    body: JSON.stringify(body),
    signal,
  });
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream") || response.body === null) {
    const answer = (await response.json()) as Json;
    if (typeof answer.error === "string") throw new Refused(answer.error);
    return answer;
  }
  for await (const { data } of readEvents(response.body)) {
    const message = JSON.parse(data) as Json;
    if (message.method === undefined) return message;
    const notice = noticeOf(message);
    if (notice !== undefined) onNotice(notice);
  }
  throw new Refused("the stream ended without a response");
}

function headersOf({ name, args, inputSchema }: ToolCall): Record<string, string> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": MODERN_REVISION,
    "mcp-method": "tools/call",
    "mcp-name": headerValue(name),
  };
  const { headers: annotated, fault } = paramHeaders(inputSchema);
  for (const { header, path } of fault === undefined ? annotated : []) {
    const value = argumentAt(args, path);
    if (typeof value === "string") headers[header] = headerValue(value);
    else if (typeof value === "number" || typeof value === "boolean") headers[header] = String(value);
  }
  return headers;
}

function noticeOf({ method, params }: Json): string | undefined {
  const { progress, total, message, data } = (params ?? {}) as Json;
  if (method === "notifications/progress") {
    const share = typeof total === "number" ? `${String(progress)} of ${total}` : String(progress);
    return typeof message === "string" ? `${share}: ${message}` : share;
  }
  if (method !== "notifications/message") return undefined;
  return typeof data === "string" ? data : JSON.stringify(data);
}
