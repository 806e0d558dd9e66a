/** Sessions with equal ids, in any order of events: no session receives messages of another. */

import { expect, test } from "vitest";
import type { Call, Reply } from "../../../src/core/call.js";
import { ANONYMOUS } from "../../../src/core/client.js";
import type { Pipe, PipeEdge } from "../../../src/downstream/edge.js";
import { createLegacyEdge } from "../../../src/downstream/legacy/edge.js";
import type { Envelope } from "../../../src/wire/envelope.js";
import { type JsonObject, objectAt } from "../../../src/wire/json.js";
import { fakePort, textReply } from "../../support/fake-port.js";
import fc from "../../support/fast-check.js";
import { initializeMessage, type Message } from "./support.js";

type Action =
  | { readonly do: "call" | "cancel"; readonly who: number; readonly id: number }
  | { readonly do: "answer" | "progress" | "ask"; readonly which: number }
  | { readonly do: "respond"; readonly who: number; readonly id: number };

const HOSTS = 3;
const who = fc.nat(HOSTS - 1);
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("call" as const), who, id: fc.nat(3) }) },
  fc.record({ do: fc.constant("cancel" as const), who, id: fc.nat(3) }),
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("answer", "progress", "ask"), which: fc.nat(9) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("respond" as const), who, id: fc.integer({ min: 1, max: 4 }) }),
  },
);

/** One call a host made, as the host remembers it. */
interface Made {
  readonly tag: string;
  readonly id: number;
  cancelled: boolean;
  /** Its reply, once the other side gave one. */
  answered: boolean;
  responses: number;
}

class TestHost {
  readonly made: Made[] = [];
  readonly openQuestions = new Map<unknown, string>();
  pipe: PipeEdge | undefined;

  constructor(readonly name: string) {}

  send(message: JsonObject): void {
    void this.pipe?.receive({ jsonrpc: "2.0", ...message } as Envelope);
  }

  inFlight(id: number): Made | undefined {
    return this.made.find((call) => call.id === id && !call.cancelled && call.responses === 0);
  }

  /** Whatever comes must be this host's own. */
  hear(text: string): void {
    const message = JSON.parse(text) as Message;
    const tag = /tag:([\w-]+)/.exec(text)?.[1];
    if (message.id === "init" || message.id === null) return;
    const call = this.made.find((made) => made.tag === tag);
    if (message.method === "notifications/cancelled") {
      expect(this.openQuestions.delete(message.params?.requestId)).toBe(true);
      return;
    }
    expect(call, `${this.name} heard ${text}`).toBeDefined();
    expect([call?.cancelled, call?.responses]).toEqual([false, 0]);
    if (message.method === "notifications/progress") expect(message.params?.progressToken).toBe(call?.id);
    else if (message.method !== undefined) this.openQuestions.set(message.id, tag ?? "");
    else {
      expect(message.id).toBe(call?.id);
      if (call !== undefined) call.responses += 1;
    }
  }
}

const tagOf = (call: Call): string => String(objectAt(call.params, "arguments")?.tag);

test("hosts that use the same ids at the same time see their own answers, progress, questions and cancels only", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 60 }), async (actions) => {
      const pending: { readonly call: Call; settle(reply: Reply): void }[] = [];
      const strays: unknown[] = [];
      const port = fakePort();
      const edge = createLegacyEdge({
        gateway: {
          ...port,
          handle: (call) => new Promise<Reply>((settle) => void pending.push({ call, settle })),
        },
        sessions: { max: 10, idleMs: 60_000 },
        keepAliveMs: 15_000,
      });
      const hosts = Array.from({ length: HOSTS }, (_, at) => new TestHost(`host${at}`));
      for (const host of hosts) {
        const send = (text: Parameters<Pipe["send"]>[0]) => {
          try {
            host.hear(String(text));
          } catch (error) {
            strays.push(error);
          }
        };
        host.pipe = edge.pipe({ principal: ANONYMOUS, endpoint: "", send });
        await host.pipe.receive(initializeMessage({ capabilities: { elicitation: {} } }));
        host.send({ method: "notifications/initialized" });
      }
      const hostOf = (tag: string) => hosts.find(({ made }) => made.some((call) => call.tag === tag));

      for (const [step, next] of actions.entries()) {
        switch (next.do) {
          case "call": {
            const host = hosts[next.who] as TestHost;
            const tag = `${host.name}-${step}`;
            if (host.inFlight(next.id) === undefined) {
              host.made.push({ tag, id: next.id, cancelled: false, answered: false, responses: 0 });
            }
            host.send({
              id: next.id,
              method: "tools/call",
              params: { name: "t", arguments: { tag }, _meta: { progressToken: next.id } },
            });
            break;
          }
          case "cancel": {
            const host = hosts[next.who] as TestHost;
            const call = host.inFlight(next.id);
            host.send({ method: "notifications/cancelled", params: { requestId: next.id } });
            if (call !== undefined) call.cancelled = true;
            break;
          }
          case "progress": {
            const one = pending[next.which % Math.max(pending.length, 1)];
            if (one === undefined) break;
            const { progressToken } = objectAt(one.call.params, "_meta") ?? {};
            const message = `tag:${tagOf(one.call)}`;
            one.call.notify({
              method: "notifications/progress",
              params: { progressToken, progress: step, message },
            });
            break;
          }
          case "answer":
          case "ask": {
            const [one] = pending.splice(next.which % Math.max(pending.length, 1), 1);
            if (one === undefined) break;
            const tag = tagOf(one.call);
            const made = hostOf(tag)?.made.find((call) => call.tag === tag);
            const params = { message: `tag:${tag}`, requestedSchema: { type: "object", properties: {} } };
            if (next.do === "answer" && made !== undefined) made.answered = true;
            one.settle(
              next.do === "answer"
                ? textReply(`tag:${tag}`)
                : {
                    kind: "input_required",
                    requests: { q: { method: "elicitation/create", params } },
                    sealedState: tag,
                  },
            );
            break;
          }
          case "respond": {
            const host = hosts[next.who] as TestHost;
            const from = host.openQuestions.get(next.id);
            host.openQuestions.delete(next.id);
            host.send({ id: next.id, result: { action: "accept", content: { tag: from ?? "nobody" } } });
          }
        }
        await new Promise(setImmediate);
      }

      expect(strays).toEqual([]);
      for (const { call } of pending) {
        if (call.inputResponses === undefined) continue;
        // The answer that reached a call is the one its own host gave to its own question, with its own state.
        expect(call.inputResponses).toEqual({
          responses: { q: { action: "accept", content: { tag: tagOf(call) } } },
          sealedState: tagOf(call),
        });
      }
      for (const made of hosts.flatMap((host) => host.made)) {
        if (made.cancelled) expect(made.responses).toBe(0);
        else expect(made.responses).toBe(made.answered ? 1 : 0);
      }
      for (const host of hosts) await host.pipe?.close();
      expect(edge.sessions()).toEqual([]);
      await edge.close();
    }),
    { numRuns: 150 },
  );
});
