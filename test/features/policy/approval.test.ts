/** Calls that a rule lets through only with the approval of a person: what is shown, remembered and counted. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { RuleConfig } from "../../../src/features/policy/config.js";
import { ExactNumber, type JsonObject } from "../../../src/wire/json.js";
import { writeJson } from "../../../src/wire/json-text.js";
import { clientOf, routeTo, toolCall, wordOf } from "../../support/calls.js";
import { fakeCall } from "../../support/fake-call.js";
import { TAKES_ALL } from "../../support/sample.js";
import { turnTheClock } from "../../support/turn-the-clock.js";
import { again, asksPeople, elicitation, inTurn, messageOf, object, questions } from "./replies.js";
import { policyOf } from "./support.js";

describe("approval", () => {
  const approve: Partial<RuleConfig> & Pick<RuleConfig, "effect"> = {
    name: "ask-first",
    tools: ["*__delete_*"],
    effect: "approve",
  };
  const call = () => toolCall("files", "delete_all", { path: "/tmp/‮x" }, { client: asksPeople });

  test("is requested before the server receives the call, and shows tool and arguments", async () => {
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

  test("holds only for the arguments that were shown: the config may add others while the question is open", async () => {
    const { handle, calls } = policyOf({ rules: [approve] });
    const withDefault = (env: string) => toolCall("files", "delete_all", { env }, { client: asksPeople });
    const asked = await handle(withDefault("test"));
    const accepted = { "cardea/approval": { action: "accept" } };
    expect(wordOf(await handle(again(withDefault("prod"), asked, accepted)))).toBe("state_rejected");
    expect(calls).toEqual([]);
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
    [
      "very many names",
      Object.fromEntries(Array.from({ length: TAKES_ALL ? 200_000 : 20_000 }, (_, at) => [`f${at}`, 1])),
    ],
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
    expect(message).toContain("The approval holds for this call only.");
    expect(wordOf(await handle(again(first, asked, { "cardea/approval": { action: "accept" } })))).toBe(
      "result",
    );
    // It was a yes to what was shown, and so to this call alone.
    expect(wordOf(await handle(first))).toBe("input_required");
    expect(calls).toHaveLength(1);
  });

  test("shows more of the command and path arguments than of others", async () => {
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

  test("states that the URI of a resource is truncated, and does not remember the answer", async () => {
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

  test("is refused for a host without elicitation", async () => {
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

  test("is not requested for a method that cannot carry a question", async () => {
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

  test("cannot be forged: an answer without a question asks the question", async () => {
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

  test("is remembered for the time in the rule, for the same call of the same principal", async () => {
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
