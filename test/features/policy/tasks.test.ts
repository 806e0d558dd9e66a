/** The policy of a task that continues after its call was evaluated and charged. */
import { describe, expect, test } from "vitest";
import type { Call, Handler, Reply } from "../../../src/core/call.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { result, routeTo, toolCall, wordOf } from "../../support/calls.js";
import { heapUsed } from "../../support/heap.js";
import { type GivenPolicy, policyOf } from "./support.js";

const asked = (message: string) => ({ method: "elicitation/create", params: { message } });
const sampling = { method: "sampling/createMessage", params: { messages: [], maxTokens: 9000 } };

/** A question about a task of `db__query`. */
const about = (method: string, taskId = "t1", over: Partial<Call> = {}): Call =>
  toolCall("db", "query", {}, { method, params: { taskId }, route: routeTo("db", "query"), ...over });

const object = (reply: Reply): JsonObject => (reply.kind === "result" ? reply.result.object : {});
const task = (more: JsonObject): Reply => result({ taskId: "t1", status: "input_required", ...more });
const told = (calls: readonly Call[]) => calls.map(({ method, params }) => [method, params]);

describe("polling a task", () => {
  test.each<[string, GivenPolicy]>([
    [
      "a tool that is denied by its arguments",
      { rules: [{ tools: ["db__*"], when: "args.env == 'prod'", effect: "deny" }] },
    ],
    ["a tool that needs an approval", { rules: [{ tools: ["db__*"], effect: "approve" }] }],
    ["a tool that nothing allows any more", { default: "deny" }],
    ["a tool that is hidden by now", { rules: [{ tools: ["db__*"], effect: "hide" }] }],
  ])("of %s is not evaluated a second time", async (_, given) => {
    const { handle } = policyOf(given);
    for (const method of ["tasks/get", "tasks/result", "tasks/update", "tasks/cancel"]) {
      expect(wordOf(await handle(about(method)))).toBe("result");
    }
  });

  test("pays nothing for it, however often", async () => {
    const { handle } = policyOf({ limits: [{ tools: ["*"], rate: { count: 1, windowMs: 60_000 } }] });
    expect(wordOf(await handle(toolCall("db", "query")))).toBe("result");
    for (let times = 0; times < 5; times += 1)
      expect(wordOf(await handle(about("tasks/get")))).toBe("result");
    expect(wordOf(await handle(toolCall("db", "query")))).toBe("rate_limited");
  });
});

describe("what a task gives", () => {
  const given = {
    structuredContent: { iban: "DE1", name: "Ada" },
    content: [{ type: "text", text: "key sk-abc" }],
  };
  const clean = {
    structuredContent: { iban: "[…]", name: "Ada" },
    content: [{ type: "text", text: "key […]" }],
  };
  const config = {
    arguments: { paths: [], patterns: [] },
    results: { paths: ["structuredContent.iban"], patterns: ["sk-[a-z]+"] },
    replacement: "[…]",
  };

  test.each([
    [
      "tasks/get",
      { taskId: "sk-handle", status: "completed", statusMessage: "sk-x", result: given },
      { taskId: "sk-handle", status: "completed", statusMessage: "[…]", result: clean },
    ],
    ["tasks/result", given, clean],
    ["tools/call", { taskId: "sk-handle", resultType: "task" }, { taskId: "sk-handle", resultType: "task" }],
  ])(
    "%s is redacted like the result of a call, and its handle stays what it is",
    async (method, before, after) => {
      const { handle } = policyOf(
        { rules: [{ tools: ["db__*"], effect: "redact", redact: config }] },
        async () => result(before),
      );
      expect(object(await handle(about(method)))).toEqual(after);
    },
  );

  test("is redacted by every rule that may have matched its arguments, which are not kept", async () => {
    const rules = [
      {
        when: "args.secret == true",
        effect: "redact" as const,
        redact: { ...config, results: { paths: [], patterns: ["sk-[a-z]+"] } },
      },
      { when: "args.open == true", effect: "allow" as const },
      {
        effect: "redact" as const,
        redact: { ...config, results: { paths: ["structuredContent.iban"], patterns: [] } },
      },
      {
        effect: "redact" as const,
        redact: { ...config, results: { paths: ["structuredContent.name"], patterns: [] } },
      },
    ];
    const { handle } = policyOf({ rules }, async () => result(given));
    expect(object(await handle(about("tasks/result")))).toEqual(clean);
  });
});

describe("what a task asks", () => {
  const rules = [
    {
      name: "no-passwords",
      on: "elicitation" as const,
      when: "request.message.contains('password')",
      effect: "deny" as const,
    },
    { name: "small", on: "sampling" as const, effect: "allow" as const, maxTokens: 100 },
  ];

  test("is evaluated question by question; a denied one is declined immediately, and only once", async () => {
    const requests = { a: asked("your name?"), b: asked("your password?"), c: sampling };
    const server: Handler = async (call) =>
      call.method === "tasks/get" ? task({ inputRequests: requests }) : result({});
    const { handle, calls } = policyOf({ rules }, server);
    const shown = { a: requests.a, c: { ...sampling, params: { ...sampling.params, maxTokens: 100 } } };
    for (let times = 0; times < 2; times += 1) {
      expect(object(await handle(about("tasks/get")))).toEqual({
        taskId: "t1",
        status: "input_required",
        inputRequests: shown,
      });
    }
    expect(told(calls)).toEqual([
      ["tasks/get", { taskId: "t1" }],
      ["tasks/update", { taskId: "t1", inputResponses: { b: { action: "decline" } } }],
      ["tasks/get", { taskId: "t1" }],
    ]);
  });

  test("counts, and takes no memory when it was answered", async () => {
    let told = 0;
    const server: Handler = async () => {
      told += 1;
      const message = Buffer.alloc(512 * 1024, "x").toString("latin1"); // longer ones would not stand in the heap
      return task({ inputRequests: { [`q${told}`]: asked(message) } });
    };
    const { handle } = policyOf({ rules: [{ on: "elicitation", effect: "allow", maxRounds: 50 }] }, server);
    const before = heapUsed();
    for (let times = 1; times <= 50; times += 1) {
      expect(Object.keys(object(await handle(about("tasks/get"))).inputRequests ?? {})).toEqual([
        `q${times}`,
      ]);
    }
    expect(heapUsed() - before).toBeLessThan(10 * 1024 * 1024);
    expect(object(await handle(about("tasks/get")))).toEqual({ taskId: "t1", status: "working" });
  });

  test("and is refused as a whole leaves the task running", async () => {
    const server: Handler = async () => task({ inputRequests: { b: asked("your password?") } });
    const { handle } = policyOf({ rules }, server);
    expect(object(await handle(about("tasks/get")))).toEqual({ taskId: "t1", status: "working" });
  });

  test("of a model, and may not, ends the task, because no answer can be made up", async () => {
    const server: Handler = async () => task({ inputRequests: { c: sampling } });
    const { handle, calls } = policyOf({ rules: [{ on: "sampling", effect: "deny" }] }, server);
    await handle(about("tasks/get"));
    expect(told(calls).at(-1)).toEqual(["tasks/cancel", { taskId: "t1" }]);
  });

  test("is sent to the server again when the first attempt failed", async () => {
    let broken = true;
    const server: Handler = async (call) => {
      if (call.method === "tasks/get") return task({ inputRequests: { b: asked("your password?") } });
      if (broken) throw new Error("no way to the server");
      return result({});
    };
    const { handle, calls } = policyOf({ rules }, server);
    expect(wordOf(await handle(about("tasks/get")))).toBe("outcome_unknown");
    broken = false;
    await handle(about("tasks/get"));
    expect(calls.map(({ method }) => method)).toEqual([
      "tasks/get",
      "tasks/update",
      "tasks/get",
      "tasks/update",
    ]);
  });

  test("while its result is awaited is evaluated like the questions of a call", async () => {
    const server: Handler = async (call) =>
      call.inputResponses === undefined
        ? { kind: "input_required", requests: { b: asked("your password?") }, state: { server: "s" } }
        : result({ told: call.inputResponses.responses });
    const { handle } = policyOf({ rules }, server);
    expect(object(await handle(about("tasks/result")))).toEqual({ told: { b: { action: "decline" } } });
  });
});
