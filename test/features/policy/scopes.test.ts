/** Rules that need scopes: what a token allows, and the error for a token with too few. */
import { describe, expect, test } from "vitest";
import type { Reply } from "../../../src/core/call.js";
import type { Principal } from "../../../src/core/client.js";
import { clientOf, toolCall, wordOf } from "../../support/calls.js";
import { type GivenPolicy, policyOf } from "./support.js";

const token = (scope: string, more: Partial<Principal> = {}) =>
  clientOf({ principal: { id: "ann", groups: [], claims: { scope }, byToken: true, ...more } });
const scopesIn = (reply: Reply): readonly string[] | undefined =>
  reply.kind === "error" ? reply.scopes : undefined;

const reading = { tools: ["db__*"], scopes: ["db:read", "mcp"], effect: "allow" } as const;
const ask = (given: GivenPolicy, client = token(""), args = {}) =>
  policyOf(given).handle(toolCall("db", "get", args, { client }));

describe("a rule that needs scopes", () => {
  test("lets a token through that grants all of them, written either way", async () => {
    const policy: GivenPolicy = { default: "deny", rules: [reading] };
    expect(wordOf(await ask(policy, token("mcp other db:read")))).toBe("result");
    const scp = token("", { claims: { scp: ["db:read", "mcp"] } });
    expect(wordOf(await ask(policy, scp))).toBe("result");
    expect(wordOf(await ask(policy, token("db:read mcp2")))).toBe("forbidden");
  });

  test("names all of them at once to a token that grants too little", async () => {
    const reply = await ask({ default: "deny", rules: [reading] }, token("mcp"));
    expect(reply).toEqual({
      kind: "error",
      refusal: "forbidden",
      scopes: ["db:read", "mcp"],
      error: {
        code: -31403,
        message: '"db__get" needs a token that grants db:read mcp',
        data: { cardea: { code: "forbidden", server: "db", retryable: false } },
      },
    });
  });

  test.each([
    ["an allow", "allow"],
    ["an approval", "approve"],
    ["a redaction", "redact"],
  ] as const)("%s that comes before what refuses is one", async (_what, effect) => {
    const redact = { arguments: { paths: ["x"], patterns: [] }, results: { paths: [], patterns: [] } };
    const rule = {
      scopes: ["s"],
      effect,
      ...(effect === "redact" && { redact: { ...redact, replacement: "-" } }),
    };
    const deny = { tools: ["db__*"], effect: "deny" } as const;
    expect(scopesIn(await ask({ rules: [rule, deny] }))).toEqual(["s"]);
    expect(scopesIn(await ask({ rules: [deny, rule] }))).toBeUndefined();
  });

  test.each([
    ["of another tool", { tools: ["files__*"] }],
    ["of other people", { principals: ["bob"] }],
    ["of another group", { groups: ["admins"] }],
    ["whose condition is not met", { when: "args.env == 'test'" }],
    ["that denies", { effect: "deny" as const }],
    ["that hides", { effect: "hide" as const }],
  ])("is no help where it is one %s", async (_what, more) => {
    const rule = { scopes: ["s"], effect: "allow" as const, ...more };
    expect(wordOf(await ask({ default: "deny", rules: [rule] }))).toBe("denied");
  });

  test("is no help against a rule that decides first because its condition cannot be evaluated", async () => {
    const broken = { when: "args.env > 1", effect: "deny" as const };
    const rules = [broken, { scopes: ["s"], effect: "allow" as const }];
    const reply = await ask({ default: "deny", rules }, token(""), { env: "test" });
    expect([wordOf(reply), scopesIn(reply)]).toEqual(["denied", undefined]);
  });
});

test("a caller without a token is denied like by any other rule", async () => {
  const reply = await ask({ default: "deny", rules: [reading] }, clientOf());
  expect([wordOf(reply), scopesIn(reply)]).toEqual(["denied", undefined]);
});
