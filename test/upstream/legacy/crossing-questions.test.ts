/** Many hosts, many calls, many questions at once, in any order: every answer reaches its own call, once. */

import { expect, test, vi } from "vitest";
import type { Call, Reply } from "../../../src/core/call.js";
import type { Client, ClientDirectory } from "../../../src/core/client.js";
import { GatewayError } from "../../../src/core/errors.js";
import { ParkedCalls } from "../../../src/upstream/legacy/parked-calls.js";
import { objectAt } from "../../../src/wire/json.js";
import { HTTP, legacyServer } from "../../support/fake-channel.js";
import { fakeTime } from "../../support/fake-time.js";
import fc from "../../support/fast-check.js";
import { calling, client, meet } from "../../support/met-upstream.js";

fakeTime();

interface HostPlan {
  /** A legacy host; else one without a session. */
  readonly session: boolean;
  /** Equal numbers: hosts that the gateway cannot tell apart, with one principal and equal capabilities. */
  readonly principal: number;
  readonly calls: readonly CallPlan[];
}

interface CallPlan {
  readonly startMs: number;
  /** How many questions the tool asks at once, round by round. */
  readonly rounds: readonly number[];
  readonly serverMs: number;
  readonly hostMs: number;
  /** The host cancels in this round; never if it is beyond the last. */
  readonly givesUpIn: number;
}

interface Told {
  readonly "test/secret": string;
  readonly "test/plan": CallPlan;
}

const callPlan: fc.Arbitrary<CallPlan> = fc.record({
  startMs: fc.nat(60),
  rounds: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }),
  serverMs: fc.nat(40),
  hostMs: fc.nat(200),
  givesUpIn: fc.integer({ min: 1, max: 12 }),
});
const hostPlan: fc.Arbitrary<HostPlan> = fc.record({
  session: fc.boolean(),
  principal: fc.nat(2),
  calls: fc.array(callPlan, { minLength: 1, maxLength: 3 }),
});

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const CAPABILITIES = { elicitation: { form: {} } };

/**
 * A host: makes its calls, and answers every question with the secret of the call it was asked for. Returns what
 * came of each call. The tool checks the secrets, so an answer that went astray is an error of the tool.
 */
async function play(
  host: number,
  plan: HostPlan,
  of: Client,
  upstreamCall: (call: Call) => Promise<Reply>,
): Promise<readonly string[]> {
  return Promise.all(
    plan.calls.map(async (each, index) => {
      await pause(each.startMs);
      const secret = `host ${host}, call ${index}`;
      // Names and arguments of all calls are equal; only the tool knows which is which.
      const params = { name: "quiz", arguments: {}, _meta: { "test/secret": secret, "test/plan": each } };
      let current = calling({ client: of, params });
      try {
        for (let round = 1; ; round += 1) {
          const giveUp = current.giveUp;
          if (round === each.givesUpIn) setTimeout(() => giveUp(), each.hostMs);
          const reply = await upstreamCall(current.call);
          if (reply.kind === "result") return String(reply.result.object.verdict);
          if (reply.kind === "error") return `error ${reply.error.code}`;
          await pause(each.hostMs);
          // A host whose request was cancelled is not asked any further.
          if (plan.session && current.call.signal.aborted) return "given up";
          const responses = Object.fromEntries(
            Object.keys(reply.requests).map((key) => [key, { action: "accept", content: { secret } }]),
          );
          const inputResponses = { responses, ...(reply.state !== undefined && { state: reply.state }) };
          current = calling({ client: of, params, inputResponses });
        }
      } catch (error) {
        if (error instanceof GatewayError) return error.code === "cancelled" ? "given up" : error.code;
        throw error;
      }
    }),
  );
}

test.each([
  ["a pipe", {}],
  ["HTTP", { transport: HTTP }],
])("over %s", async (way, config) => {
  await fc.assert(
    fc.asyncProperty(fc.array(hostPlan, { minLength: 1, maxLength: 8 }), async (plans) => {
      vi.clearAllTimers();
      const ran = new Map<string, number>();
      const server = legacyServer().on("tools/call", async ({ _meta }, asked) => {
        const { "test/secret": secret, "test/plan": plan } = _meta as Told;
        ran.set(secret, (ran.get(secret) ?? 0) + 1);
        for (const questions of plan.rounds) {
          await pause(plan.serverMs);
          const answers = await Promise.all(
            Array.from({ length: questions }, () => asked.ask("elicitation/create", { message: "secret?" })),
          );
          const told = answers.map(({ result }) => objectAt(result, "content")?.secret);
          if (told.some((each) => each !== secret)) return { verdict: `wrong: ${JSON.stringify(told)}` };
        }
        return { verdict: "right" };
      });
      const parked = new ParkedCalls();
      const clients = plans.map((plan, index) =>
        client({
          session: plan.session,
          affinity: plan.session ? `session-${index}` : `principal-${plan.principal}`,
          principal: { id: `principal-${plan.principal}`, groups: [], claims: {} },
          capabilities: CAPABILITIES,
        }),
      );
      // A session that is asked between its calls does not know for which; only the pipe makes that necessary.
      const sessionsOnPipe = way === "a pipe";
      const directory: ClientDirectory = { find: () => undefined };
      const { upstream } = await meet(server, config, { parked, directory });
      const apart = plans.map((plan) =>
        plan.session && sessionsOnPipe ? { ...plan, calls: plan.calls.slice(0, 1) } : plan,
      );
      const outcomes = Promise.all(
        apart.map((plan, index) => play(index, plan, clients[index] as Client, upstream.call)),
      );
      await vi.advanceTimersByTimeAsync(30_000);
      const verdicts = (await outcomes).flat();
      expect(verdicts.filter((verdict) => verdict !== "right" && verdict !== "given up")).toEqual([]);
      expect([...ran.values()].every((times) => times === 1)).toBe(true);
      // Only calls of hosts without a session may still wait for a host that disappeared.
      await vi.advanceTimersByTimeAsync(16 * 60_000);
      expect(parked.size).toBe(0);
      await upstream.close();
      expect(vi.getTimerCount()).toBe(0);
    }),
    { numRuns: 60 },
  );
});
