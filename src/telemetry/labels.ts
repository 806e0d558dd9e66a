/** Which label values do metrics have? From closed sets, so that the number of series is bounded. */
import type { Call, Reply } from "../core/call.js";
import { ERRORS, type ErrorCode } from "../core/errors.js";
import { LIST_METHODS } from "../core/lists.js";
import { TARGETED_METHODS } from "../core/methods.js";
import { isObject, objectAt, stringAt } from "../wire/json.js";

const METHODS: ReadonlySet<string> = new Set([
  ...LIST_METHODS.keys(),
  ...Object.keys(TARGETED_METHODS),
  "initialize",
  "ping",
  "logging/setLevel",
  "server/discover",
  "subscriptions/listen",
  "tasks/get",
  "tasks/result",
  "tasks/list",
  "tasks/cancel",
  "tasks/update",
]);

/** A method that MCP knows, or `other`. */
export const methodLabel = (method: string): string => (METHODS.has(method) ? method : "other");

/** The configured server of a call; else the one that `reply` names as unavailable; else `none`. */
export const serverLabel = (call: Call, reply?: Reply): string =>
  call.route?.upstream ?? unavailableServer(reply) ?? "none";

/** The server that the gateway's own `upstream_unavailable` names: always a key of the config. */
export function unavailableServer(reply: Reply | undefined): string | undefined {
  if (reply?.kind !== "error" || reply.refusal !== "upstream_unavailable") return undefined;
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
export const errorType = (code: number): string => (ERROR_TYPES.has(code) ? String(code) : "_OTHER");

/** Limit (characters) of a label value, which is repeated in every series. */
const MAX_LABEL_LENGTH = 200;

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
    if (seen.size >= this.limit || value.length > MAX_LABEL_LENGTH) return "__other__";
    seen.add(value);
    return value;
  }
}

/** How a call ended; see `outcomeOf`. */
export type Outcome = "ok" | "tool_error" | "input_required" | "error" | ErrorCode;

/**
 * `ok`; `tool_error` (the result has `isError`); `input_required` (one round of several); `error` (a JSON-RPC error of
 * the server, or a bug of the gateway); or the refusal word.
 */
export function outcomeOf(call: Call, reply: Reply): Outcome {
  if (reply.kind === "input_required") return "input_required";
  if (reply.refusal !== undefined) return isErrorCode(reply.refusal) ? reply.refusal : "error";
  if (reply.kind === "error") return "error";
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
