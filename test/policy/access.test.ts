import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { RuleConfig } from "../../src/config/config.js";
import type { Call, InputResponses, Notice, Reply } from "../../src/core/call.js";
import { compose, type Handler } from "../../src/core/handler.js";
import { SILENT } from "../../src/core/logger.js";
import { errorBoundary } from "../../src/policy/error-boundary.js";
import { createPolicy } from "../../src/policy/policy.js";
import { createLogger } from "../../src/telemetry/logger.js";
import { Metrics } from "../../src/telemetry/metrics.js";
import { RESULT_TEXT } from "../../src/wire/envelope.js";
import { ExactNumber } from "../../src/wire/exact-number.js";
import { type JsonObject, objectAt, stringAt } from "../../src/wire/json.js";
import { writeJson } from "../../src/wire/json-text.js";
import { Payload } from "../../src/wire/payload.js";
import { fakeCall, unroutedCall } from "../support/fake-call.js";
import { turnTheClock } from "../support/turn-the-clock.js";
import { clientOf, policyOf, result, routeTo, rule, toolCall, wordOf } from "./support.js";

const asksPeople = clientOf({ capabilities: { elicitation: {}, sampling: {}, roots: {} } });
const object = (reply: Reply): JsonObject => (reply.kind === "result" ? reply.result.object : {});

/** A reply with questions, by their keys. */
const questions = (requests: JsonObject, server?: string): Reply => ({
  kind: "input_required",
  requests,
  ...(server !== undefined && { state: { server } }),
});
const elicitation = (message: string, more: JsonObject = {}) => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: {} }, ...more },
});
const sampling = (params: JsonObject = {}) => ({
  method: "sampling/createMessage",
  params: { messages: [], maxTokens: 5000, includeContext: "allServers", ...params },
});
const roots = { method: "roots/list" };

/** A server that replies in turn, and then says what it was last told. */
const inTurn = (...replies: readonly Reply[]): Handler => {
  let turn = 0;
  return async (call) => {
    turn += 1;
    return replies[turn - 1] ?? result({ told: call.inputResponses ?? null });
  };
};

const messageOf = (reply: Reply): string => {
  const asked = reply.kind === "input_required" ? reply.requests["cardea/approval"] : undefined;
  return stringAt(objectAt(asked as JsonObject | undefined, "params"), "message") ?? "";
};

/** The call again, with answers to what the reply asked. */
function again(call: Call, reply: Reply, responses: JsonObject): Call {
  const state = reply.kind === "input_required" ? reply.state : undefined;
  const inputResponses: InputResponses = { responses, ...(state !== undefined && { state }) };
  return { ...call, inputResponses };
}

describe("a call", () => {
  test("that no rule is about goes through untouched", async () => {
    const { handle, calls } = policyOf({ rules: [{ tools: ["db__*"], effect: "deny" }] });
    const call = toolCall("files", "read", { path: "a" });
    expect(wordOf(await handle(call))).toBe("result");
    expect(calls[0]?.params).toBe(call.params);
  });

  test("that is denied never reaches its server, and is told why in the rule's words", async () => {
    const { handle, calls } = policyOf({
      rules: [
        {
          name: "no-prod",
          when: "args.env == 'prod'",
          effect: "deny",
          message: "production is read-only here",
        },
      ],
    });
    const reply = await handle(toolCall("db", "drop", { env: "prod" }));
    expect(object(reply)).toEqual({
      content: [{ type: "text", text: "production is read-only here. Trying again will not help." }],
      isError: true,
      _meta: { "cardea/refusal": { code: "denied", rule: "no-prod", server: "db", retryable: false } },
    });
    expect(calls).toEqual([]);
    expect(wordOf(await handle(toolCall("db", "drop", { env: "test" })))).toBe("result");
  });

  test("is denied where nothing allows it and the default is to deny", async () => {
    const { handle } = policyOf({ default: "deny", rules: [{ tools: ["files__*"], effect: "allow" }] });
    expect(wordOf(await handle(toolCall("files", "read")))).toBe("result");
    expect(wordOf(await handle(toolCall("db", "drop")))).toBe("denied");
  });

  test("of something hidden gets the answer of something that does not exist", async () => {
    const { handle } = policyOf({ rules: [{ tools: ["db__*"], effect: "hide" }] });
    expect(await handle(toolCall("db", "drop"))).toEqual({
      kind: "error",
      error: {
        code: -32602,
        message: "unknown tool: db__drop",
        data: { cardea: { code: "unknown_target", retryable: false } },
      },
      refusal: "unknown_target",
    });
  });

  test("without a target is nobody's affair", async () => {
    const { handle } = policyOf({ default: "deny" });
    expect(wordOf(await handle(unroutedCall("tools/list")))).toBe("result");
  });

  test("reaches its server with the very arguments that were judged", async () => {
    const { handle, calls } = policyOf({
      rules: [{ when: "args.env != 'prod'", effect: "allow" }, { effect: "deny" }],
    });
    const args: JsonObject = JSON.parse(
      '{"env":"test","Env":"prod","__proto__":{"env":"prod"},"ENV\\u0000":1}',
    );
    await handle(toolCall("db", "drop", args));
    expect(calls[0]?.params.arguments).toBe(args);
  });
});

describe("approval", () => {
  const approve: Partial<RuleConfig> & Pick<RuleConfig, "effect"> = {
    name: "ask-first",
    tools: ["*__delete_*"],
    effect: "approve",
  };
  const call = () => toolCall("files", "delete_all", { path: "/tmp/‮x" }, { client: asksPeople });

  test("is asked for before the server hears of the call, with what would be done in plain sight", async () => {
    const { handle, calls } = policyOf({ rules: [{ ...approve, message: "Deleting cannot be undone." }] });
    const reply = await handle(call());
    expect(calls).toEqual([]);
    expect(reply).toMatchObject({
      kind: "input_required",
      requests: {
        "cardea/approval": {
          method: "elicitation/create",
          params: {
            mode: "form",
            message:
              'Deleting cannot be undone.\nAllow "files__delete_all" of server "files" with these arguments?\n{"path":"/tmp/\\u202ex"}',
            requestedSchema: { type: "object", properties: {} },
          },
        },
      },
      state: { policy: { asked: { rule: "ask-first", nonce: expect.any(String) }, rounds: 0 } },
    });
  });

  test("shows what follows a long text, and says how much it does not show", async () => {
    const { handle } = policyOf({ rules: [approve] });
    const asked = async (args: JsonObject): Promise<string> => {
      const reply = await handle(toolCall("files", "delete_all", args, { client: asksPeople }));
      return JSON.stringify(reply.kind === "input_required" && reply.requests);
    };
    const padded = await asked({ note: "x".repeat(9_000), deep: ["y".repeat(300)], path: "/etc" });
    expect(padded).toContain("… (8800 more characters, which are not shown)");
    expect(padded).toContain("… (100 more characters, which are not shown)");
    expect(padded).toContain("/etc");
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`key${at}`, at]));
    expect(await asked(many)).toMatch(/… \(\d+ more characters, which are not shown\)"/);
  });

  test.each<[string, JsonObject]>([
    ["a name of 4,200 characters", { ["x".repeat(4_200)]: 1 }],
    ["600 names", Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`filler_${at}`, "yes"]))],
    [
      "600 long names",
      Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`${at}${"k".repeat(70)}`, 1])),
    ],
    ["200,000 names", Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`f${at}`, 1]))],
    ["a text of a megabyte", { note: "n".repeat(1_000_000) }],
    ["a list without end", { note: Array.from({ length: 5_000 }, (_, at) => at) }],
    [
      "an object full of names",
      { a: Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`k${at}`, at])) },
    ],
    ["something nested deep", { a: { b: { c: { d: { e: { f: { g: { h: { i: { j: 1 } } } } } } } } } }],
    ["a number without end", { n: new ExactNumber(`1${"0".repeat(5_000)}`) }],
  ])("shows what counts, however much comes before it: %s", async (_, filler) => {
    const rules = [{ ...approve, rememberMs: 60_000 }, { when: "args.zzz == 'x'", effect: "deny" } as const];
    const { handle, calls } = policyOf({ rules });
    const args = { ...filler, zzz: "what the rule asks for", targetPath: "/etc/passwd", env: "prod" };
    const first = toolCall("files", "delete_all", args, { client: asksPeople });
    const asked = await handle(first);
    const message = messageOf(asked);
    expect(message.length).toBeLessThan(6_000);
    const shown = message.slice(message.indexOf("{"));
    expect(shown.slice(0, 200)).toMatch(/^\{"zzz":"what the rule asks for","env":"prod",/);
    expect(shown).toContain('"targetPath":"/etc/passwd"');
    const text = writeJson(args);
    const sha256 = createHash("sha256").update(text).digest("hex");
    expect(message).toContain(
      `The arguments are cut: not all can be shown. The whole arguments: ${Buffer.byteLength(text)} bytes, SHA-256 ${sha256}.`,
    );
    expect(message).toContain("A yes is good for this call alone.");
    expect(wordOf(await handle(again(first, asked, { "cardea/approval": { action: "accept" } })))).toBe(
      "result",
    );
    // It was a yes to what was shown, and so to this call alone.
    expect(wordOf(await handle(first))).toBe("input_required");
    expect(calls).toHaveLength(1);
  });

  test("shows more of a text that says what is done than of others", async () => {
    const { handle } = policyOf({ rules: [approve] });
    const args = { note: "n".repeat(500), command: `echo ${"x".repeat(500)}; rm -rf /` };
    const reply = await handle(toolCall("files", "delete_all", args, { client: asksPeople }));
    expect(messageOf(reply)).toContain('; rm -rf /","note":"nnn');
    expect(messageOf(reply)).toContain("… (300 more characters, which are not shown)");
  });

  test("shows a number as it was written", async () => {
    const { handle } = policyOf({ rules: [approve] });
    const args = { id: new ExactNumber("9007199254740993") };
    const reply = await handle(toolCall("files", "delete_all", args, { client: asksPeople }));
    expect(messageOf(reply)).toContain('{"id":9007199254740993}');
  });

  test("shows nothing that hides or turns, in names and in values, at any depth", async () => {
    const { handle } = policyOf({ rules: [{ ...approve, tools: ["*"] }] });
    const odd = "a\u202eb\u200bc\u2066d\ufe0fe\u3164f\u00a0g\u2800h\u{e0041}i\u0000j\u2028k\u034fl\ud800m";
    const args = { [odd]: odd, deep: [{ [odd]: [odd] }] };
    const route = { ...routeTo("files", "delete_all"), exposed: `x" of server "safe${odd}`, item: {} };
    const message = messageOf(
      await handle(toolCall("files", "delete_all", args, { client: asksPeople, route })),
    );
    expect(message.replaceAll("\n", "")).not.toMatch(
      /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u2800]/u,
    );
    expect(message).toContain('Allow "x\\" of server \\"safe');
    expect(message).not.toContain("cut");
  });

  test("says so where the URI of a resource is too long to be shown, and does not remember the answer", async () => {
    const { handle } = policyOf({ rules: [{ name: "ask", effect: "approve", rememberMs: 60_000 }] });
    const uri = `files+file:///${"a".repeat(3_000)}/etc/passwd`;
    const route = { upstream: "files", target: uri.slice(6), exposed: uri, kind: "resources" } as const;
    const read = fakeCall({ method: "resources/read", params: { uri }, route, client: asksPeople });
    const asked = await handle(read);
    expect(messageOf(asked)).toContain(
      `Its name is cut: not all can be shown. The whole name: ${uri.length} bytes, SHA-256 `,
    );
    expect(wordOf(await handle(again(read, asked, { "cardea/approval": { action: "accept" } })))).toBe(
      "result",
    );
    expect(wordOf(await handle(read))).toBe("input_required");
  });

  test("that is given lets the call through as if nothing had been asked", async () => {
    const { handle, calls } = policyOf({ rules: [approve] });
    const first = call();
    const reply = await handle(
      again(first, await handle(first), { "cardea/approval": { action: "accept" } }),
    );
    expect(wordOf(reply)).toBe("result");
    expect(calls).toHaveLength(1);
    expect(calls[0]).not.toHaveProperty("answers");
  });

  test.each([{ action: "decline" }, { action: "cancel" }, {}, "accept", undefined])(
    "that is answered with %j is not given",
    async (answer) => {
      const { handle, calls } = policyOf({ rules: [approve] });
      const first = call();
      const reply = await handle(again(first, await handle(first), { "cardea/approval": answer }));
      expect(wordOf(reply)).toBe("approval_declined");
      expect(calls).toEqual([]);
    },
  );

  test("counts once", async () => {
    const { handle, calls } = policyOf({ rules: [approve] });
    const first = call();
    const answered = again(first, await handle(first), { "cardea/approval": { action: "accept" } });
    await handle(answered);
    expect(wordOf(await handle(answered))).toBe("state_rejected");
    expect(calls).toHaveLength(1);
  });

  test("counts once, however long its state is good for", async () => {
    const { handle } = policyOf({ rules: [approve] });
    const first = call();
    const answered = again(first, await handle(first), { "cardea/approval": { action: "accept" } });
    await handle(answered);
    turnTheClock(5 * 3_600_000);
    expect(wordOf(await handle(answered))).toBe("state_rejected");
  });

  test("of one rule is none of another", async () => {
    const { handle } = policyOf({
      rules: [
        { ...approve, when: "args.path == 'a'" },
        { ...approve, name: "ask-twice" },
      ],
    });
    const first = toolCall("files", "delete_all", { path: "a" }, { client: asksPeople });
    const reply = await handle(first);
    const other = toolCall("files", "delete_all", { path: "b" }, { client: asksPeople });
    const stolen = again(other, reply, { "cardea/approval": { action: "accept" } });
    expect(wordOf(await handle(stolen))).toBe("state_rejected");
  });

  test("is not to be had from a host that can ask nobody", async () => {
    const { handle } = policyOf({ rules: [approve] });
    for (const capabilities of [{}, { elicitation: { url: {} } }, { sampling: {} }]) {
      const client = clientOf({ capabilities });
      const reply = await handle({ ...call(), client });
      expect([wordOf(reply), object(reply)._meta]).toMatchObject([
        "denied",
        { "cardea/refusal": { rule: "ask-first" } },
      ]);
    }
    const client = clientOf({ capabilities: { elicitation: { form: {}, url: {} } } });
    expect(wordOf(await handle({ ...call(), client }))).toBe("input_required");
  });

  test("is not asked for by a method in answer to which nobody can be asked", async () => {
    const { handle, calls } = policyOf({ rules: [{ ...approve, tools: ["*"], prompts: ["*"] }] });
    const route = { upstream: "files", target: "review", exposed: "files__review", kind: "prompts" } as const;
    const params = {
      ref: { type: "ref/prompt", name: "files__review" },
      argument: { name: "a", value: "b" },
    };
    const completion = fakeCall({ method: "completion/complete", params, route, client: asksPeople });
    expect(await handle(completion)).toMatchObject({
      kind: "error",
      error: {
        message: '"files__review" needs an approval, which completion/complete cannot ask for',
        data: { cardea: { code: "denied", rule: "ask-first", server: "files", retryable: false } },
      },
    });
    expect(calls).toEqual([]);
    const prompt = fakeCall({ method: "prompts/get", params: { name: "x" }, route, client: asksPeople });
    expect(wordOf(await handle(prompt))).toBe("input_required");
  });

  test("can be made up by nobody: an answer without a question asks the question", async () => {
    const { handle, calls } = policyOf({ rules: [approve] });
    const forged = { ...call(), inputResponses: { responses: { "cardea/approval": { action: "accept" } } } };
    expect(wordOf(await handle(forged))).toBe("input_required");
    expect(calls).toEqual([]);
  });

  test("holds for the questions that the server asks afterwards", async () => {
    const { handle, calls } = policyOf(
      { rules: [approve] },
      inTurn(questions({ sure: elicitation("Sure?") }, "server's own")),
    );
    const first = call();
    const asked = await handle(
      again(first, await handle(first), { "cardea/approval": { action: "accept" } }),
    );
    expect(asked).toMatchObject({ kind: "input_required", requests: { sure: {} } });
    const reply = await handle(again(first, asked, { sure: { action: "accept" } }));
    expect(object(reply)).toEqual({
      told: { responses: { sure: { action: "accept" } }, state: { server: "server's own" } },
    });
    expect(calls).toHaveLength(2);
  });

  test("is remembered as long as the rule says, for the same call of the same principal", async () => {
    const { handle } = policyOf({ rules: [{ ...approve, rememberMs: 60_000 }] });
    const first = call();
    await handle(again(first, await handle(first), { "cardea/approval": { action: "accept" } }));
    expect(wordOf(await handle(call()))).toBe("result");
    const otherArgs = toolCall("files", "delete_all", { path: "/" }, { client: asksPeople });
    expect(wordOf(await handle(otherArgs))).toBe("input_required");
    const bob = { ...asksPeople, principal: { id: "bob", groups: [], claims: {} } };
    expect(wordOf(await handle({ ...call(), client: bob }))).toBe("input_required");
  });

  test("that a reload asks for in the middle of a round does not run the tool a second time", async () => {
    const { handle, calls } = policyOf({ rules: [approve] });
    const resumed = {
      ...call(),
      inputResponses: { responses: { a: {} }, state: { server: "server's own" } },
    };
    expect(wordOf(await handle(resumed))).toBe("denied");
    expect(calls).toEqual([]);
  });
});

describe("what a server asks", () => {
  const call = () => toolCall("quiz", "start", {}, { client: asksPeople });

  test("goes through untouched where no rule is about it", async () => {
    const reply = questions({ a: elicitation("name?"), b: sampling(), c: roots }, "state");
    const { handle } = policyOf(
      { rules: [{ on: "roots", servers: ["git"], effect: "deny" }] },
      async () => reply,
    );
    expect(await handle(call())).toEqual(reply);
  });

  test("and may not is refused at once, and its tool goes on", async () => {
    const { handle, calls } = policyOf(
      { rules: [{ on: "elicitation", when: "request.message.matches('(?i)password')", effect: "deny" }] },
      inTurn(questions({ a: elicitation("Your PassWord?") }, "state")),
    );
    expect(object(await handle(call()))).toEqual({
      told: {
        responses: { a: { action: "decline" } },
        refusals: {
          a: { code: -1, message: "the gateway's policy does not let this server use elicitation" },
        },
        state: { server: "state" },
      },
    });
    expect(calls).toHaveLength(2);
  });

  test("is refused in the words of each kind of question", async () => {
    const { handle } = policyOf(
      {
        rules: [
          { on: "sampling", effect: "deny" },
          { on: "roots", effect: "deny" },
        ],
      },
      inTurn(questions({ s: sampling(), r: roots })),
    );
    expect(object(await handle(call())).told).toMatchObject({
      responses: { r: { roots: [] } },
      refusals: { s: { code: -1 }, r: { code: -1 } },
    });
  });

  test("is asked as far as it may be, and the server hears all answers together", async () => {
    const { handle } = policyOf(
      { rules: [{ on: "sampling", effect: "deny" }] },
      inTurn(questions({ a: elicitation("name?"), s: sampling() }, "state")),
    );
    const asked = await handle(call());
    expect(asked).toMatchObject({ requests: { a: {} } });
    expect(asked).not.toHaveProperty("requests.s");
    const reply = await handle(again(call(), asked, { a: { action: "accept", content: {} } }));
    expect(object(reply).told).toEqual({
      responses: { a: { action: "accept", content: {} } },
      refusals: { s: expect.objectContaining({ code: -1 }) },
      state: { server: "state" },
    });
  });

  test("without a state of its own comes back without one", async () => {
    const { handle } = policyOf(
      { rules: [{ on: "sampling", effect: "deny" }] },
      inTurn(questions({ a: elicitation("name?"), s: sampling() })),
    );
    const asked = await handle(call());
    const reply = await handle(again(call(), asked, { a: { action: "accept" } }));
    expect(object(reply).told).not.toHaveProperty("state");
  });

  test("again and again although it may not comes to an end", async () => {
    const { handle, calls } = policyOf({ rules: [{ on: "roots", effect: "deny" }] }, async () =>
      questions({ r: roots }),
    );
    expect(wordOf(await handle(call()))).toBe("denied");
    expect(calls).toHaveLength(9);
  });

  test("is judged by the arguments of its call too", async () => {
    const { handle } = policyOf(
      { rules: [{ on: "roots", tools: ["quiz__*"], when: "args.env == 'prod'", effect: "deny" }] },
      async ({ inputResponses }) =>
        inputResponses === undefined ? questions({ r: roots }) : result({ told: inputResponses.responses }),
    );
    const inProd = toolCall("quiz", "start", { env: "prod" }, { client: asksPeople });
    expect(object(await handle(inProd)).told).toEqual({ r: { roots: [] } });
    const elsewhere = toolCall("quiz", "start", { env: "test" }, { client: asksPeople });
    expect(wordOf(await handle(elsewhere))).toBe("input_required");
  });

  test("is cut to what the rule allows", async () => {
    const { handle } = policyOf(
      { rules: [{ on: "sampling", effect: "allow", maxTokens: 100, stripContext: true }] },
      async () =>
        questions({ big: sampling(), small: sampling({ maxTokens: 7 }), none: sampling({ maxTokens: "x" }) }),
    );
    expect(await handle(call())).toEqual(
      questions({
        big: { method: "sampling/createMessage", params: { messages: [], maxTokens: 100 } },
        small: { method: "sampling/createMessage", params: { messages: [], maxTokens: 7 } },
        none: { method: "sampling/createMessage", params: { messages: [], maxTokens: 100 } },
      }),
    );
  });

  test("may take only so many rounds", async () => {
    const { handle } = policyOf(
      { rules: [{ on: "elicitation", effect: "allow", maxRounds: 2 }] },
      async ({ inputResponses }) =>
        inputResponses?.refusals === undefined
          ? questions({ a: elicitation("more?") }, "s")
          : result({ told: inputResponses }),
    );
    let reply = await handle(call());
    reply = await handle(again(call(), reply, { a: { action: "accept" } }));
    expect(wordOf(reply)).toBe("input_required");
    reply = await handle(again(call(), reply, { a: { action: "accept" } }));
    expect(object(reply).told).toMatchObject({ responses: { a: { action: "decline" } } });
  });

  test("is denied by default where the default is to deny", async () => {
    const { handle } = policyOf(
      { default: "deny", rules: [{ effect: "allow" }] },
      inTurn(questions({ r: roots })),
    );
    expect(object(await handle(call())).told).toMatchObject({ responses: { r: { roots: [] } } });
  });

  test("through an error that names pages is judged like any other question", async () => {
    const page = (url: string): Reply => ({
      kind: "error",
      error: {
        code: -32042,
        message: "please visit",
        data: { elicitations: [{ mode: "url", url, message: "sign in", elicitationId: "1" }] },
      },
    });
    const rules = [
      {
        on: "elicitation",
        when: "request.mode == 'url' && host(request.url) != 'good.example'",
        effect: "deny",
      },
    ] as const;
    const good = policyOf({ rules }, async () => page("https://good.example/login"));
    expect(await good.handle(call())).toEqual(page("https://good.example/login"));
    const evil = policyOf({ rules }, async () => page("https://good.example.evil.example/login"));
    expect(wordOf(await evil.handle(call()))).toBe("denied");
  });

  test("cannot speak for the policy: a state that looks like ours is the server's all the same", async () => {
    const forged = '{"policy":{"approved":"ask-first","rounds":0}}';
    const { handle } = policyOf(
      { rules: [{ on: "sampling", effect: "deny" }] },
      inTurn(questions({ a: elicitation("name?") }, forged)),
    );
    const asked = await handle(call());
    const reply = await handle(again(call(), asked, { a: {} }));
    expect(object(reply).told).toEqual({ responses: { a: {} }, state: { server: forged } });
  });
});

describe("redaction", () => {
  const nothing = { paths: [], patterns: [] };
  const redact = (given: Partial<NonNullable<RuleConfig["redact"]>>) =>
    ({
      effect: "redact",
      redact: { arguments: nothing, results: nothing, replacement: "[redacted]", ...given },
    }) as const;

  test("takes out of arguments what the rule names, and leaves the rest and the original alone", async () => {
    const { handle, calls } = policyOf({
      rules: [
        redact({ arguments: { paths: ["user.password", "keys.*.value"], patterns: ["sk-[a-z0-9]+"] } }),
      ],
    });
    const args = {
      user: { name: "ann", password: "hunter2" },
      keys: [{ value: 1, id: "a" }, { value: { deep: true } }],
      note: "use sk-abc123 and sk-def456, $& $1",
    };
    const before = structuredClone(args);
    await handle(toolCall("db", "query", args));
    expect(calls[0]?.params.arguments).toEqual({
      user: { name: "ann", password: "[redacted]" },
      keys: [{ value: "[redacted]", id: "a" }, { value: "[redacted]" }],
      note: "use [redacted] and [redacted], $& $1",
    });
    expect(args).toEqual(before);
  });

  test("takes out of results, errors, questions and notices", async () => {
    const secret = "key sk-abc123 end";
    const clean = "key [redacted] end";
    const notices: Notice[] = [];
    const replies: Reply[] = [
      result({
        content: [
          { type: "text", text: secret },
          { type: "image", data: "sk-abc123", mimeType: "image/png" },
        ],
        structuredContent: { deep: [secret] },
      }),
      { kind: "error", error: { code: -32000, message: secret, data: { detail: [secret], row: 7 } } },
      questions({ a: elicitation(secret) }),
    ];
    const { handle } = policyOf(
      { rules: [redact({ results: { paths: [], patterns: ["sk-[a-z0-9]+"] } })] },
      async (call) => {
        call.notify({ method: "notifications/message", params: { level: "info", data: secret } });
        call.notify({ method: "notifications/progress" });
        return replies.shift() as Reply;
      },
    );
    const call = toolCall("db", "query", {}, { notify: (notice) => void notices.push(notice) });
    expect(object(await handle(call))).toEqual({
      content: [
        { type: "text", text: clean },
        { type: "image", data: "sk-abc123", mimeType: "image/png" },
      ],
      structuredContent: { deep: [clean] },
    });
    expect(await handle(call)).toEqual({
      kind: "error",
      error: { code: -32000, message: clean, data: { detail: [clean], row: 7 } },
    });
    expect(await handle(call)).toMatchObject({ requests: { a: { params: { message: clean } } } });
    expect(notices[0]).toEqual({ method: "notifications/message", params: { level: "info", data: clean } });
    expect(notices[1]).toEqual({ method: "notifications/progress" });
  });

  test("carries on untouched what has nothing in it", async () => {
    const reply = result({ content: [{ type: "text", text: "fine" }] });
    const { handle, calls } = policyOf(
      { rules: [redact({ results: { paths: ["a.b"], patterns: ["x{9}"] } })] },
      async () => reply,
    );
    const call = toolCall("db", "query", { a: 1 });
    expect(await handle(call)).toEqual(reply);
    expect(calls[0]?.params).toBe(call.params);
  });

  test("covers what a text says twice, of which only the last is parsed", async () => {
    const text = '{"a":"secret","a":"plain"}';
    const message = { jsonrpc: "2.0", id: 1, result: JSON.parse(text), [RESULT_TEXT]: text } as const;
    const { handle } = policyOf(
      { rules: [redact({ results: { paths: [], patterns: ["secret"] } })] },
      async () => ({
        kind: "result",
        result: Payload.ofResponse(message),
      }),
    );
    expect(await handle(toolCall("db", "query"))).toMatchObject({ result: { text: '{"a":"plain"}' } });
  });

  test("holds back a text that is too long to be looked through", async () => {
    const long = "a".repeat(300_000);
    const { handle } = policyOf(
      { rules: [redact({ results: { paths: [], patterns: ["(a+)+b"] } })] },
      async () => result({ content: [{ type: "text", text: long }] }),
    );
    expect(object(await handle(toolCall("db", "query")))).toEqual({
      content: [{ type: "text", text: "[redacted]" }],
    });
  });
});

describe("what was decided", () => {
  test("is counted by rule and kept for a while, the newest first, without arguments", async () => {
    const { handle, policy, metrics } = policyOf({
      rules: [
        { name: "no-prod", when: "args.env == 'prod'", effect: "deny" },
        { name: "broken", when: "args.env > 1", effect: "deny" },
        { name: "rest", effect: "allow" },
      ],
    });
    await handle(toolCall("db", "drop", { env: "prod" }));
    await handle(toolCall("db", "drop", { env: "test" }));
    await handle(toolCall("db", "drop", {}));
    expect(policy.decisions()).toMatchObject([
      { effect: "allow", rule: "rest", target: "db__drop", server: "db", principal: "anonymous", on: "call" },
      { effect: "deny", rule: "broken", failed: expect.stringContaining("no matching overload") },
      { effect: "deny", rule: "no-prod" },
    ]);
    expect(policy.decisions(1)).toHaveLength(1);
    expect(JSON.stringify(policy.decisions())).not.toContain('"prod"');
    const text = await metrics.text();
    expect(text).toContain('cardea_policy_decisions_total{decision="deny",rule="no-prod"} 1');
    expect(text).toContain('cardea_policy_decisions_total{decision="allow",rule="rest"} 1');
  });

  test.each([
    ["accept", "approve", "accepted"],
    ["decline", "decline", "declined"],
    ["cancel", "decline", "declined"],
  ])(
    "of a call that a person was asked about is one decision, which says what the answer was: %s",
    async (action, effect, answer) => {
      const asking = { name: "ask", tools: ["*__drop"], effect: "approve" } as const;
      const { handle, policy, metrics } = policyOf(
        { rules: [asking, { on: "elicitation", effect: "allow", maxRounds: 3 }] },
        inTurn(questions({ sure: elicitation("Sure?") }, "server's own")),
      );
      const call = toolCall("db", "drop", {}, { client: asksPeople });
      const counted = async () =>
        (await metrics.text())
          .split("\n")
          .filter((line) => /^cardea_policy_decisions_total.*"ask"/.test(line));
      const asked = await handle(call);
      expect(policy.decisions()).toMatchObject([{ effect: "approve", rule: "ask", target: "db__drop" }]);
      expect(policy.decisions()[0]).not.toHaveProperty("answer");
      expect(await counted()).toEqual([]);
      const next = await handle(again(call, asked, { "cardea/approval": { action } }));
      if (next.kind === "input_required") await handle(again(call, next, { sure: { action: "accept" } }));
      expect(policy.decisions().filter(({ on }) => on === "call")).toMatchObject([
        { effect, rule: "ask", answer },
      ]);
      expect(await counted()).toEqual([`cardea_policy_decisions_total{decision="${effect}",rule="ask"} 1`]);
    },
  );

  test("of a call at a host that can ask nobody is to deny it", async () => {
    const { handle, policy } = policyOf({ rules: [{ name: "ask", effect: "approve" }] });
    expect(wordOf(await handle(toolCall("db", "drop")))).toBe("denied");
    expect(policy.decisions()).toMatchObject([{ effect: "deny", rule: "ask" }]);
  });

  test("has its time once in the line of the log", async () => {
    const lines: string[] = [];
    const logger = createLogger({
      level: "debug",
      terminal: false,
      write: (line) => lines.push(line),
      env: {},
    });
    const metrics = new Metrics({ version: "1", process: false });
    const rules = [rule({ name: "no", effect: "deny" })];
    const policy = createPolicy({ policy: { default: "allow", rules } }, { metrics, logger });
    await compose([errorBoundary(SILENT), policy.access], async () => result({}))(toolCall("db", "drop"));
    expect(lines).toHaveLength(1);
    expect(lines[0]?.match(/"time":/g)).toHaveLength(1);
  });

  test("is not kept for ever", async () => {
    const { handle, policy } = policyOf({ rules: [{ effect: "deny" }] });
    for (let i = 0; i < 1200; i += 1) await handle(toolCall("db", "drop"));
    expect(policy.decisions()).toHaveLength(1000);
  });
});

describe("attack 25: where a server may send a person", () => {
  const host = clientOf({ capabilities: { elicitation: { form: {}, url: {} } } });
  const sends = (url: unknown) =>
    policyOf({}, async ({ inputResponses }) =>
      inputResponses === undefined
        ? {
            kind: "input_required",
            requests: { q: { method: "elicitation/create", params: { mode: "url", message: "m", url } } },
          }
        : result({ told: inputResponses }),
    ).handle(toolCall("db", "write", {}, { client: host }));

  test.each(["https://x.example/a", "http://127.0.0.1:1/"])(
    "%s is a page, with or without rules",
    async (url) => {
      expect(wordOf(await sends(url))).toBe("input_required");
    },
  );

  test.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,<script>",
    "file:///etc/passwd",
    "vscode://settings",
    "\u0001javascript:alert(1)",
    "/relative",
    "",
    7,
    undefined,
  ])("%j is none, and nobody is asked to follow it", async (url) => {
    const reply = await sends(url);
    expect(wordOf(reply)).toBe("result");
    expect(reply.kind === "result" && reply.result.object).toMatchObject({
      told: { responses: { q: { action: "decline" } } },
    });
  });
});
