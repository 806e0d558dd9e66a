import { describe, expect, test, vi } from "vitest";
import type { Call, Reply } from "../../../../src/core/call.js";
import { GatewayError } from "../../../../src/core/errors.js";
import { limitFaults } from "../../../../src/features/policy/limits/limit.js";
import { answered, clientOf, result, routeTo, toolCall, wordOf } from "../../../support/calls.js";
import { fakeTime } from "../../../support/fake-time.js";
import { turnTheClock } from "../../../support/turn-the-clock.js";
import { limit, policyOf } from "../support.js";

fakeTime();

const ann = clientOf();
const bob = clientOf({ principal: { id: "bob", groups: [], claims: {} }, affinity: "bob" });
const perMinute = (count: number) => ({ count, windowMs: 60_000 });

/** The number of concurrent calls that are admitted. */
async function passed(handle: (call: Call) => Promise<Reply>, calls: readonly Call[]): Promise<number> {
  const words = (await Promise.all(calls.map(handle))).map(wordOf);
  expect(words.every((word) => word === "result" || word === "rate_limited")).toBe(true);
  return words.filter((word) => word === "result").length;
}
const many = (count: number, make: () => Call): readonly Call[] => Array.from({ length: count }, make);

describe("a rate", () => {
  test("lets through exactly the burst, however many call at once, and then has a retryAfterMs", async () => {
    const { handle, metrics } = policyOf({
      limits: [
        { name: "slow-search", tools: ["search__*"], rate: perMinute(10), burst: 5, per: "principal" },
      ],
    });
    const call = () => toolCall("search", "web", {}, { client: ann });
    expect(await passed(handle, many(64, call))).toBe(5);
    const reply = await handle(call());
    expect(reply.kind === "result" && reply.result.object).toMatchObject({
      content: [
        {
          text: '"search__web" was called too often (limit "slow-search": 10 in 60 s per principal). Retry in 6 s.',
        },
      ],
      _meta: {
        "cardea/refusal": {
          code: "rate_limited",
          rule: "slow-search",
          server: "search",
          retryable: true,
          retryAfterMs: 6000,
        },
      },
    });
    expect(await metrics.text()).toContain(
      'cardea_rate_limited_total{server="search",rule="slow-search"} 60',
    );
    vi.advanceTimersByTime(6000);
    expect(await passed(handle, many(64, call))).toBe(1);
  });

  test("is for the calls it is about", async () => {
    const { handle } = policyOf({ limits: [{ tools: ["search__*"], rate: perMinute(1) }] });
    expect(
      await passed(
        handle,
        many(5, () => toolCall("search", "web")),
      ),
    ).toBe(1);
    expect(
      await passed(
        handle,
        many(5, () => toolCall("files", "read")),
      ),
    ).toBe(5);
  });

  const session = (id: string) => clientOf({ affinity: id, session: true });
  test.each([
    ["principal", [ann, bob, session("s1")], 2],
    ["session", [ann, bob, session("s1"), session("s2"), session("s2")], 4],
    ["all", [ann, bob, session("s1")], 1],
  ] as const)("per %s is shared by those and by no others", async (per, clients, through) => {
    const { handle } = policyOf({ limits: [{ rate: perMinute(1), per }] });
    const calls = clients.map((client) => toolCall("files", "read", {}, { client }));
    expect(await passed(handle, calls)).toBe(through);
  });

  test.each([
    ["server", 2],
    ["tool", 3],
  ] as const)("per %s counts each separately", async (per, through) => {
    const { handle } = policyOf({ limits: [{ rate: perMinute(1), per }] });
    const calls = [
      toolCall("files", "read"),
      toolCall("files", "write"),
      toolCall("git", "log"),
      toolCall("git", "log"),
    ];
    expect(await passed(handle, calls)).toBe(through);
  });

  test("of several that apply all are asked, and a call that one refuses costs the others nothing", async () => {
    const { handle } = policyOf({
      limits: [
        { name: "wide", rate: perMinute(10) },
        { name: "narrow", tools: ["files__write"], rate: perMinute(1) },
      ],
    });
    expect(
      await passed(
        handle,
        many(20, () => toolCall("files", "write")),
      ),
    ).toBe(1);
    expect(
      await passed(
        handle,
        many(20, () => toolCall("files", "read")),
      ),
    ).toBe(9);
  });

  test("is not spent by what the rules refuse", async () => {
    const { handle } = policyOf({
      rules: [{ when: "args.bad", effect: "deny" }],
      limits: [{ rate: perMinute(1) }],
    });
    for (let i = 0; i < 5; i += 1)
      expect(wordOf(await handle(toolCall("a", "b", { bad: true })))).toBe("denied");
    expect(wordOf(await handle(toolCall("a", "b")))).toBe("result");
  });

  test.each(["queue_full", "upstream_unavailable", "overloaded"] as const)(
    "is returned when no server received the call: %s",
    async (code) => {
      let refuse = true;
      const { handle } = policyOf({ limits: [{ rate: perMinute(1) }] }, async () => {
        if (refuse) throw new GatewayError(code, "gateway", "not now");
        return result({});
      });
      expect(wordOf(await handle(toolCall("a", "b")))).toBe(code);
      refuse = false;
      expect(wordOf(await handle(toolCall("a", "b")))).toBe("result");
      expect(wordOf(await handle(toolCall("a", "b")))).toBe("rate_limited");
    },
  );

  test("is spent when the server received the call and failed", async () => {
    const { handle } = policyOf({ limits: [{ rate: perMinute(1) }] }, async () => {
      throw new GatewayError("timed_out", "upstream", "too slow");
    });
    expect(wordOf(await handle(toolCall("a", "b")))).toBe("timed_out");
    expect(wordOf(await handle(toolCall("a", "b")))).toBe("rate_limited");
  });
});

describe("a quota", () => {
  test("lets through exactly its number in each window, and has the time of the next one", async () => {
    const { handle } = policyOf({
      limits: [{ name: "day", quota: { count: 10, windowMs: 86_400_000 }, per: "principal" }],
    });
    const call = () => toolCall("search", "web", {}, { client: ann });
    expect(
      await passed(
        handle,
        many(64, () => call()),
      ),
    ).toBe(10);
    vi.advanceTimersByTime(86_000_000);
    expect(
      await passed(
        handle,
        many(64, () => call()),
      ),
    ).toBe(0);
    const reply = await handle(call());
    expect(reply.kind === "result" && reply.result.object).toMatchObject({
      content: [{ text: expect.stringContaining('limit "day": 10 in 86400 s per principal') }],
      _meta: { "cardea/refusal": { code: "rate_limited", rule: "day", retryAfterMs: 400_000 } },
    });
    expect(await passed(handle, [toolCall("search", "web", {}, { client: bob })])).toBe(1);
    vi.advanceTimersByTime(400_000);
    expect(
      await passed(
        handle,
        many(64, () => call()),
      ),
    ).toBe(10);
  });

  test("beside a rate both are asked, and neither pays for what the other refuses", async () => {
    const { handle } = policyOf({
      limits: [{ rate: perMinute(60), burst: 2, quota: { count: 3, windowMs: 86_400_000 } }],
    });
    const calls = many(9, () => toolCall("search", "web"));
    expect(await passed(handle, calls)).toBe(2);
    vi.advanceTimersByTime(60_000);
    expect(await passed(handle, calls)).toBe(1);
    vi.advanceTimersByTime(60_000);
    expect(await passed(handle, calls)).toBe(0);
  });
});

describe("a later round", () => {
  const asking = async (call: Call): Promise<Reply> =>
    call.inputResponses === undefined
      ? { kind: "input_required", requests: { a: { method: "x" } } }
      : result({});

  test("of a call was paid for by the first", async () => {
    const { handle } = policyOf({ sealsStates: true, limits: [{ rate: perMinute(1) }] }, asking);
    const call = toolCall("quiz", "start", { n: 1 });
    const asked = await handle(call);
    expect(wordOf(asked)).toBe("input_required");
    expect(wordOf(await handle(answered(call, asked)))).toBe("result");
  });

  test("was paid for however long the answer took", async () => {
    vi.useRealTimers();
    const limits = [{ quota: { count: 1, windowMs: 86_400_000 } }];
    const { handle } = policyOf({ sealsStates: true, limits }, asking);
    const call = toolCall("quiz", "start", { n: 1 });
    const asked = await handle(call);
    turnTheClock(3_500_000);
    expect(wordOf(await handle(answered(call, asked)))).toBe("result");
  });

  test("that there never was costs like any other call", async () => {
    const { handle } = policyOf({ sealsStates: true, limits: [{ rate: perMinute(2) }] }, asking);
    const forged = () => ({ ...toolCall("quiz", "start"), inputResponses: { responses: {} } });
    expect(wordOf(await handle(forged()))).toBe("result");
    expect(wordOf(await handle(forged()))).toBe("result");
    expect(wordOf(await handle(forged()))).toBe("rate_limited");
  });

  test.each([
    ["small", (n: number) => ({ n })],
    // Other calls come in between while these are hashed.
    ["large", (n: number) => ({ all: Array.from({ length: 20_000 }, () => "x"), n })],
  ])("is good for one call, with the same arguments: %s ones", async (_, args) => {
    vi.useRealTimers();
    const limits = [{ quota: { count: 1, windowMs: 86_400_000 } }];
    const { handle } = policyOf({ sealsStates: true, limits }, asking);
    const call = toolCall("quiz", "start", args(1));
    const asked = await handle(call);
    const other = answered(toolCall("quiz", "start", args(2)), asked);
    expect(wordOf(await handle(other))).toBe("state_rejected");
    const unproven = { ...call, inputResponses: { responses: {} } };
    expect(wordOf(await handle(unproven))).toBe("rate_limited");
    expect(wordOf(await handle(answered(call, asked)))).toBe("result");
    expect(wordOf(await handle(answered(call, asked)))).toBe("rate_limited");
  });

  test("that its server could not receive is paid for again", async () => {
    let isAway = true;
    const { handle } = policyOf({ sealsStates: true, limits: [{ rate: perMinute(1) }] }, (call) => {
      if (call.inputResponses !== undefined && isAway)
        return Promise.reject(new GatewayError("upstream_unavailable", "upstream", "away"));
      return asking(call);
    });
    const call = toolCall("quiz", "start");
    const asked = await handle(call);
    expect(wordOf(await handle(answered(call, asked)))).toBe("upstream_unavailable");
    isAway = false;
    expect(wordOf(await handle(answered(call, asked)))).toBe("result");
    expect(wordOf(await handle(answered(call, asked)))).toBe("rate_limited");
  });

  test("after an approval is the first that is paid", async () => {
    const client = clientOf({ capabilities: { elicitation: {} } });
    const { handle } = policyOf({ rules: [{ effect: "approve" }], limits: [{ rate: perMinute(1) }] });
    const approved = async () => {
      const call = toolCall("files", "delete", {}, { client });
      const reply = await handle(call);
      const state = reply.kind === "input_required" ? (reply.state ?? {}) : {};
      return handle({
        ...call,
        inputResponses: { responses: { "cardea/approval": { action: "accept" } }, state },
      });
    };
    expect(wordOf(await approved())).toBe("result");
    expect(wordOf(await approved())).toBe("rate_limited");
  });
});

describe("a concurrency", () => {
  function busy() {
    const finish: (() => void)[] = [];
    const server = () => new Promise<Reply>((resolve) => void finish.push(() => resolve(result({}))));
    return { finish, server };
  }

  test("runs up to the limit, queues up to its length, and refuses the rest at once", async () => {
    const { finish, server } = busy();
    const { handle } = policyOf(
      { limits: [{ name: "narrow", concurrency: 2, queue: 1, per: "server" }] },
      server,
    );
    const replies = [handle(toolCall("a", "x")), handle(toolCall("a", "y")), handle(toolCall("a", "z"))];
    const refused = await handle(toolCall("a", "x"));
    expect(wordOf(refused)).toBe("queue_full");
    expect(refused.kind === "result" && refused.result.object).toMatchObject({
      _meta: { "cardea/refusal": { rule: "narrow", retryable: true, retryAfterMs: 1000 } },
    });
    const elsewhere = handle(toolCall("b", "x"));
    await vi.advanceTimersByTimeAsync(0);
    expect(finish).toHaveLength(3);
    for (let done = 0; done < 4; done += 1) {
      finish[done]?.();
      await vi.advanceTimersByTimeAsync(0);
    }
    expect((await Promise.all([...replies, elsewhere])).map(wordOf)).toEqual(Array(4).fill("result"));
  });

  test("a call that is cancelled in the queue takes no slot and costs nothing later", async () => {
    const { finish, server } = busy();
    const { handle } = policyOf({ limits: [{ concurrency: 1, queue: 5 }] }, server);
    const controller = new AbortController();
    const first = handle(toolCall("a", "x"));
    const given = handle(toolCall("a", "x", {}, { signal: controller.signal }));
    const last = handle(toolCall("a", "x"));
    controller.abort();
    expect(wordOf(await given)).toBe("cancelled");
    finish[0]?.();
    await first;
    await vi.advanceTimersByTimeAsync(0);
    finish[1]?.();
    expect(wordOf(await last)).toBe("result");
  });

  test("lets a call return with answers that the running one may be waiting for", async () => {
    const { finish, server } = busy();
    const { handle } = policyOf({ sealsStates: true, limits: [{ concurrency: 1, queue: 5 }] }, (call) =>
      call.inputResponses === undefined && call.params.name === "a__asks"
        ? Promise.resolve({ kind: "input_required", requests: {} })
        : server(),
    );
    const asked = await handle(toolCall("a", "asks"));
    expect(wordOf(asked)).toBe("input_required");
    const inside = handle(toolCall("a", "x"));
    const waiting = handle(toolCall("a", "y"));
    const back = handle(answered(toolCall("a", "asks"), asked));
    const pretended = handle(toolCall("a", "y", {}, { inputResponses: { responses: {} } }));
    await vi.advanceTimersByTimeAsync(0);
    expect(finish).toHaveLength(2);
    for (const [done, reply] of [inside, back, waiting, pretended].entries()) {
      finish[done]?.();
      expect(wordOf(await reply)).toBe("result");
      await vi.advanceTimersByTimeAsync(0);
    }
  });

  test("of two limits: a call that the second refuses leaves the first", async () => {
    const { finish, server } = busy();
    const { handle } = policyOf(
      {
        limits: [
          { name: "all", concurrency: 2 },
          { name: "x", tools: ["a__x"], concurrency: 1, queue: 0 },
        ],
      },
      server,
    );
    void handle(toolCall("a", "x"));
    expect(wordOf(await handle(toolCall("a", "x")))).toBe("queue_full");
    const other = handle(toolCall("a", "y"));
    await vi.advanceTimersByTimeAsync(0);
    finish[1]?.();
    expect(wordOf(await other)).toBe("result");
  });
});

describe("a time-out", () => {
  test("is the shortest of those that apply", () => {
    const { policy } = policyOf({
      limits: [
        { tools: ["slow__*"], timeoutMs: 1_800_000 },
        { servers: ["slow"], timeoutMs: 900_000 },
        { tools: ["quick__*"], timeoutMs: 1 },
      ],
    });
    expect(policy.timeoutMs?.(toolCall("slow", "x"))).toBe(900_000);
    expect(policy.timeoutMs?.(toolCall("other", "x"))).toBeUndefined();
    // A host that waits for the result of a task may wait as long as the task takes.
    const waiting = { method: "tasks/result", params: { taskId: "t" } };
    expect(policy.timeoutMs?.(toolCall("slow", "x", {}, waiting))).toBeUndefined();
  });
});

describe("a budget for what servers ask", () => {
  test("ends with a refusal that the server receives, and the tool continues", async () => {
    const sampling = { method: "sampling/createMessage", params: {} };
    const { handle } = policyOf(
      { limits: [{ name: "few", on: "sampling", rate: perMinute(2), per: "server" }] },
      async ({ inputResponses }) =>
        inputResponses === undefined
          ? { kind: "input_required", requests: { a: sampling } }
          : result({ refused: Object.keys(inputResponses.refusals ?? {}) }),
    );
    const client = clientOf({ capabilities: { sampling: {} } });
    const ask = () => handle(toolCall("chatty", "talk", {}, { client }));
    expect([wordOf(await ask()), wordOf(await ask())]).toEqual(["input_required", "input_required"]);
    const third = await ask();
    expect(third.kind === "result" && third.result.object).toEqual({ refused: ["a"] });
    expect(wordOf(await handle(toolCall("other", "talk", {}, { client })))).toBe("input_required");
  });
});

test("limits that are never reached are reported with their place", () => {
  const faults = limitFaults([
    limit({ rate: perMinute(1) }),
    limit({}),
    limit({ burst: 1, timeoutMs: 1 }),
    limit({ queue: 1, rate: perMinute(1) }),
    limit({ on: "sampling", concurrency: 1 }),
  ]);
  expect(faults.map(({ path }) => path)).toEqual([
    ["limits", 1],
    ["limits", 2, "burst"],
    ["limits", 3, "queue"],
    ["limits", 4],
  ]);
});

test("a call without a target is not limited", async () => {
  const { handle } = policyOf({ limits: [{ rate: perMinute(1) }] });
  const { route: _, ...call } = toolCall("a", "b");
  for (let i = 0; i < 5; i += 1) expect(wordOf(await handle(call))).toBe("result");
  expect(routeTo("a", "b").exposed).toBe("a__b");
});
