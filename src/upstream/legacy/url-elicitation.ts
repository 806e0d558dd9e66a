/** How is a call continued that a server refuses until the user has visited a link (2025-11-25: error -32042)? */
import type { Call, InputResponses, Reply } from "../../core/call.js";
import { GatewayError } from "../../core/errors.js";
import { ConditionVariable, type StopSignal } from "../../core/stop.js";
import { codeOf, type RpcError } from "../../wire/envelope.js";
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../wire/json.js";
import { CODE } from "../../wire/names.js";
import { INTERACTIVE_METHODS, type Presentation, presentQuestions } from "../protocol/questions.js";

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
  if (codeOf(error) !== CODE.legacyUrlElicitationRequired || !INTERACTIVE_METHODS.has(call.method))
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
