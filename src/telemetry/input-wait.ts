/** Times how long calls wait for a person or a model: from a question to the round that brings its answer. */
import { LRUCache } from "lru-cache";
import { APPROVAL_KEY, type Call, type Reply } from "../core/call.js";
import type { Handler, Middleware } from "../core/handler.js";
import { isObject, stringAt } from "../wire/json.js";
import { serverLabel } from "./labels.js";
import type { InputKind, Metrics } from "./metrics.js";

interface Waiting {
  readonly since: number;
  readonly kinds: ReadonlySet<InputKind>;
}

/** Questions that are remembered at once; the ones longest without an answer are forgotten first. */
const MOST_WAITING = 10_000;
const KINDS: ReadonlyMap<string, InputKind> = new Map([
  ["sampling/createMessage", "sampling"],
  ["elicitation/create", "elicitation"],
  ["roots/list", "roots"],
]);

/** Belongs outside the layer that seals states: there every round has a state of its own to be known by. */
export function inputWait(metrics: Metrics): Middleware {
  const waiting = new LRUCache<string, Waiting>({ max: MOST_WAITING });
  return (next: Handler): Handler =>
    async function inputWait(call) {
      if (call.answers !== undefined) answered(call, call.answers.state);
      const reply = await next(call);
      if (reply.kind === "input_required") {
        waiting.set(keyOf(call, reply.state), { since: performance.now(), kinds: kindsOf(reply) });
      }
      return reply;
    };

  function answered(call: Call, state: string | undefined): void {
    const key = keyOf(call, state);
    const asked = waiting.get(key);
    if (asked === undefined) return;
    waiting.delete(key);
    const seconds = (performance.now() - asked.since) / 1000;
    for (const kind of asked.kinds) metrics.waitedForInput({ server: serverLabel(call), kind, seconds });
  }
}

const keyOf = ({ client, method, route }: Call, state: string | undefined): string =>
  JSON.stringify([client.affinity, method, route?.exposed, state]);

function kindsOf({ requests }: Extract<Reply, { kind: "input_required" }>): ReadonlySet<InputKind> {
  return new Set(
    Object.entries(requests).flatMap(([key, request]) => {
      if (key === APPROVAL_KEY) return ["approval" as const];
      const method = isObject(request) ? stringAt(request, "method") : undefined;
      return (method === undefined ? undefined : KINDS.get(method)) ?? [];
    }),
  );
}
