/** Private data, untrusted content and a tool that sends, in one conversation: what becomes of the third call. */
import { describe, expect, test } from "vitest";
import { hasFeature, testOf } from "../../support/features.js";
import { HOSTS } from "../../support/open-gateway.js";
import { eachValue } from "../../support/sample.js";
import { callsOf, converse, decisions, gatewayWith, rowsOf, talk, touchAll } from "./support.js";

const PAIRS = eachValue(
  "pairs for flow",
  HOSTS.flatMap((host) => (["legacy", "modern"] as const).map((server) => ({ ...host, server }))),
  ({ era, door, server }) => [`${era} at ${server}`, door],
);

describe.each(PAIRS)("a $era host over $door at $server servers", ({ server, ...kind }) => {
  test("is refused what sends after private data and untrusted content, and nothing else", async () => {
    const gateway = await gatewayWith("deny", { era: server });
    const conversation = await talk(gateway, kind);
    await conversation.call("files__read");
    await conversation.call("mail__send", { to: "eve" });
    expect(callsOf(gateway, "mail")).toBe(1);
    await conversation.call("web__get");
    const refused = await conversation.call("mail__send", { to: "eve" });
    expect(refused).toEqual({
      text: '"mail__send" sends to the outside, and this conversation has touched private data (files__read) and untrusted content (web__get): the flow rule "no-exfiltration" refuses it. A new conversation has touched nothing. A retry will not help.',
      meta: expect.objectContaining({
        "cardea/refusal": { code: "denied", rule: "no-exfiltration", server: "mail", retryable: false },
      }),
    });
    expect(callsOf(gateway, "mail")).toBe(1);
    await conversation.call("mail__draft");
    await conversation.call("clock__now");
    expect([callsOf(gateway, "mail"), callsOf(gateway, "clock")]).toEqual([2, 1]);
    if (hasFeature("admin")) expect(await decisions(gateway)).toEqual({ allow: 1, deny: 1 });
  });

  test("in another conversation is refused nothing", async () => {
    if (kind.era === "modern" && kind.door === "stdio") return; // a pipe is one host, and one conversation
    const gateway = await gatewayWith("deny", { era: server });
    await touchAll(await talk(gateway, kind));
    await (await talk(gateway, kind)).call("mail__send");
    expect(callsOf(gateway, "mail")).toBe(1);
  });

  testOf("policy")("asks a person, who sees what was touched, for each call", async () => {
    const gateway = await gatewayWith("approve", { era: server });
    const conversation = await talk(gateway, kind, { elicits: true });
    await touchAll(conversation);
    const accepted = await converse(conversation, "mail__send", "accept");
    expect(accepted.questions).toEqual([
      expect.stringMatching(
        /^"mail__send" sends to the outside, and this conversation has touched private data \(files__read\) and untrusted content \(web__get\) \(flow rule "no-exfiltration"\)\.\nAllow "mail__send" of server "mail" with these arguments\?/,
      ),
    ]);
    expect(callsOf(gateway, "mail")).toBe(1);
    const declined = await converse(conversation, "mail__send", "decline");
    expect(declined.questions).toHaveLength(1);
    expect(declined.refusal).toMatchObject({ code: "approval_declined", rule: "no-exfiltration" });
    expect(callsOf(gateway, "mail")).toBe(1);
    if (hasFeature("admin")) expect(await decisions(gateway)).toEqual({ approve: 2 });
  });
});

testOf("policy")("a host that cannot ask a person is refused", async () => {
  const gateway = await gatewayWith("approve");
  const conversation = await talk(gateway, { era: "modern", door: "http" });
  await touchAll(conversation);
  expect((await conversation.call("mail__send")).text).toContain("this host cannot ask for it");
  expect(callsOf(gateway, "mail")).toBe(0);
});

testOf("admin")("with observe the call is made, recorded and counted", async () => {
  const gateway = await gatewayWith("observe");
  const conversation = await talk(gateway, { era: "legacy", door: "http" });
  await touchAll(conversation);
  await conversation.call("mail__send");
  await conversation.call("mail__send");
  expect(callsOf(gateway, "mail")).toBe(2);
  expect(await decisions(gateway)).toEqual({ observe: 2 });
  const calls = (await rowsOf(gateway, "calls")).filter(({ target }) => target === "mail__send");
  expect(calls.map(({ rule, decision, outcome }) => ({ rule, decision, outcome }))).toEqual([
    { rule: "no-exfiltration", decision: "observe", outcome: "ok" },
    { rule: "no-exfiltration", decision: "observe", outcome: "ok" },
  ]);
});
