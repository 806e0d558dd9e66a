/** What counts as touched, and what becomes of calls whose conversation is not known. */
import { expect, test } from "vitest";
import { testOf } from "../../support/features.js";
import type { Server } from "../../support/open-gateway.js";
import { until } from "../../support/until.js";
import { callsOf, decisions, gatewayWith, pageOf, rule, talk, touchAll } from "./support.js";

const LEGACY = { era: "legacy", door: "http" } as const;
const MODERN = { era: "modern", door: "http" } as const;

test("a call that fails has touched what it may have read, and a resource counts as a tool does", async () => {
  const failing: Partial<Server> = {
    answer: ({ method }) =>
      method === "tools/call" ? { content: [{ type: "text", text: "no" }], isError: true } : undefined,
  };
  const gateway = await gatewayWith("deny", { more: { web: failing } });
  const conversation = await talk(gateway, LEGACY);
  const { host } = conversation;
  await host.send(host.nextId(), "resources/read", { uri: "files+note://one" });
  await conversation.call("web__get");
  const { text } = await conversation.call("mail__send");
  expect(text).toContain("private data (a resource of files) and untrusted content (web__get)");
});

testOf("policy")("a call that was refused before its server received it has touched nothing", async () => {
  const rules = [{ name: "closed", tools: ["files__*"], effect: "deny" }];
  const gateway = await gatewayWith("deny", { config: { policy: { rules, flow: [rule("deny")] } } });
  const conversation = await talk(gateway, LEGACY);
  await touchAll(conversation);
  await conversation.call("mail__send");
  expect(callsOf(gateway, "mail")).toBe(1);
});

test("a call under way has touched nothing yet", async () => {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const gateway = await gatewayWith("deny", { more: { web: { heard: () => finished } } });
  const conversation = await talk(gateway, LEGACY);
  await conversation.call("files__read");
  const slow = conversation.call("web__get");
  await until("the call at its server", () => callsOf(gateway, "web") === 1);
  await conversation.call("mail__send");
  expect(callsOf(gateway, "mail")).toBe(1);
  finish();
  await slow;
  await conversation.call("mail__send");
  expect(callsOf(gateway, "mail")).toBe(1);
});

test("a tool that reads, has the text of strangers and sends is matched alone, whatever the conversation", async () => {
  const all = { flow: { reads: "private", content: "untrusted", sends: "external" } };
  const gateway = await gatewayWith("deny", { more: { mail: { entry: all } } });
  const conversation = await talk(gateway, MODERN, { trace: null });
  expect((await conversation.call("mail__send")).text).toContain("private data (its own)");
  expect(callsOf(gateway, "mail")).toBe(0);
});

testOf("admin")("without a session and a trace a rule is unknown, and the call is made", async () => {
  const gateway = await gatewayWith("deny");
  const conversation = await talk(gateway, MODERN, { trace: null });
  await touchAll(conversation);
  await conversation.call("mail__send");
  expect(callsOf(gateway, "mail")).toBe(1);
  expect(await decisions(gateway)).toEqual({ unknown: 1 });
});

testOf("admin", "policy")("operators see the rule, how often it has matched, and its decisions", async () => {
  const gateway = await gatewayWith("deny");
  const conversation = await talk(gateway, LEGACY);
  await touchAll(conversation);
  await conversation.call("mail__send");
  const { rules } = await pageOf(gateway, "policy");
  expect(rules).toEqual([
    {
      ...{ name: "no-exfiltration", effect: "deny", on: "call", hits: 1, lastHitAt: expect.any(String) },
      matches: { after: ["private", "untrusted"], sends: "external" },
    },
  ]);
  expect(await pageOf(gateway, "decisions")).toMatchObject([
    { rule: "no-exfiltration", effect: "deny", target: "mail__send", principal: "ann" },
  ]);
});

test("explain supposes calls before, and says what the rule would do", async () => {
  const { gateway } = await gatewayWith("deny");
  const query = { name: "mail__send", args: {}, as: "ann", scopes: [] };
  const explained = (after: readonly string[]) => gateway.explain({ ...query, after });
  expect(await explained(["files__read"])).toMatchObject({
    effect: "allow",
    rules: [{ rule: "no-exfiltration", matches: false, why: expect.stringContaining("untrusted content") }],
    flow: { labels: ["sends: external"], touched: { private: ["files__read"] } },
  });
  expect(await explained(["files__read", "web__get"])).toMatchObject({
    ...{ effect: "deny", rule: "no-exfiltration" },
    message: expect.stringContaining("private data (files__read) and untrusted content (web__get)"),
  });
  expect(await explained(["files__raed"])).toMatchObject({
    unknown: expect.stringContaining("did you mean files__read?"),
  });
});
