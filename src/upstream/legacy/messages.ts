/**
 * How is a call written for a server of a revision up to 2025-11-25, and which reply is its response? The error -32042
 * becomes questions: the call continues when the user has visited its links.
 */

import type { Call, InputResponses, Reply } from "../../core/call.js";
import { resultFault } from "../../core/check-params.js";
import { GatewayError } from "../../core/errors.js";
import { INTERACTIVE_METHODS } from "../../core/methods.js";
import { ConditionVariable, type StopSignal } from "../../core/stop.js";
import {
  codeOf,
  type Envelope,
  PROTOTYPE_MEMBERS,
  PrototypeMemberError,
  type Request,
  type RpcError,
} from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { Payload } from "../../wire/payload.js";
import { errorForClient, withProgressToken, withTrace } from "../protocol/open-calls.js";
import { invalidQuestionError, type Presentation, presentQuestions } from "../protocol/questions.js";
import { invalidResponse } from "../transport/invalid-response.js";

/** The request for `call` under the gateway's own id, which is its progress token as well. */
export function writeCall(call: Call, id: number): Request {
  const params = withProgressToken(call.params, id);
  const trace = call.record?.sentTrace;
  return {
    jsonrpc: "2.0",
    id,
    method: call.method,
    params: trace === undefined ? params : withTrace(params, trace),
  };
}

/** The reply for `message`: a result or an error; these revisions have no other result types. */
export function readReply(server: string, call: Call, message: Envelope): Reply {
  if (call.method === "completion/complete" && message.error?.code === CODE.methodNotFound) {
    return { kind: "result", result: NO_COMPLETIONS };
  }
  if (message.error !== undefined) return { kind: "error", error: readError(server, call, message.error) };
  const { result = {} } = message;
  const [member] = message[PROTOTYPE_MEMBERS] ?? [];
  if (member !== undefined) throw invalidResponse(server, new PrototypeMemberError(member));
  const fault = resultFault(result);
  if (fault !== undefined) return { kind: "error", error: invalidQuestionError(server, fault) };
  if (!INPUT_MEMBERS.some((member) => Object.hasOwn(result, member))) {
    return { kind: "result", result: Payload.ofResponse(message) };
  }
  return { kind: "result", result: Payload.ofObject(without(result, INPUT_MEMBERS)) };
}

// Hosts of 2026-07-28 would take these members for questions, which no policy has evaluated; here they mean nothing.
const INPUT_MEMBERS = ["resultType", "inputRequests", "requestState"];

// Servers of 2024-11-05 have no capability for completions.
const NO_COMPLETIONS = Payload.ofObject({ completion: { values: [] } });

// -32042 is a code of 2025-11-25 that clients of that revision know; the next revision forbids it, and its
// clients have no session (basic/index, "Error Codes").
function readError(server: string, { client }: Call, error: RpcError): RpcError {
  const known = codeOf(error) === CODE.urlElicitationRequired && client.session;
  return known ? error : errorForClient(server, error);
}

/** How long (ms) the server may take to send `notifications/elicitation/complete`. */
const COMPLETION_TIMEOUT_MS = 120_000;
/** The maximum number of completed ids that are remembered, for clients that resume after the notification. */
const MAX_REMEMBERED = 200;

/** The error as questions, for a client that can open links; undefined for any other error. */
export function urlElicitationReply(
  call: Call,
  error: RpcError,
  presentation: Presentation,
): Extract<Reply, { kind: "input_required" }> | undefined {
  if (codeOf(error) !== CODE.urlElicitationRequired || !INTERACTIVE_METHODS.has(call.method))
    return undefined;
  if (objectAt(objectAt(call.client.capabilities, "elicitation"), "url") === undefined) return undefined;
  const listed = isObject(error.data) ? error.data.elicitations : undefined;
  const links = Array.isArray(listed) ? listed.filter(isObject) : [];
  if (links.length === 0) return undefined;
  const ids = links.flatMap((link) => stringAt(link, "elicitationId") ?? []);
  const requests = Object.fromEntries(
    links.map((link, index): [string, JsonObject] => {
      const params = call.client.session ? link : without(link, ["elicitationId"]);
      return [
        `elicitation_${index + 1}`,
        { method: "elicitation/create", params: { ...params, mode: "url" } },
      ];
    }),
  );
  return {
    kind: "input_required",
    requests: presentQuestions(requests, presentation),
    state: { links: ids },
  };
}

/** @throws GatewayError `approval_declined` when the user declined to visit one of the links. */
export function requireConsent(server: string, { responses }: InputResponses): void {
  const all = Object.values(responses);
  if (all.length > 0 && all.every((response) => isObject(response) && response.action === "accept")) return;
  const sentence = `${server} needs the user to visit a link before it continues, and the user declined`;
  throw new GatewayError("approval_declined", "downstream", sentence, { server });
}

/** The links for which the server has sent `notifications/elicitation/complete`. */
export class VisitedLinks {
  readonly #done = new Set<string>();
  readonly #completed = new ConditionVariable();

  complete(id: string): void {
    this.#done.add(id);
    const [oldest] = this.#done;
    if (this.#done.size > MAX_REMEMBERED && oldest !== undefined) this.#done.delete(oldest);
    this.#completed.notifyAll();
  }

  /** Waits until the server has reported all links as visited, COMPLETION_TIMEOUT_MS at most, or `signal` aborts. */
  async whenDone(ids: readonly string[], signal: StopSignal): Promise<void> {
    const until = performance.now() + COMPLETION_TIMEOUT_MS;
    let pending = ids.filter((id) => !this.#done.has(id));
    while (pending.length > 0 && !signal.aborted && performance.now() < until) {
      await this.#completed.wait(until - performance.now(), signal);
      pending = pending.filter((id) => !this.#done.has(id));
    }
  }
}
