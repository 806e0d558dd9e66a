/** Which lines the audit log has of questions, and of approvals that are given, declined, expired or remembered. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, onTestFinished } from "vitest";
import { testOf } from "../../support/features.js";
import { hostOf } from "../../support/modern-host.js";
import { startUpstream } from "../../support/scripted/upstreams.js";
import { until } from "../../support/until.js";
import { auditedGatewayOf } from "./audited-gateway.js";

/** The gateway of these tests has rules. */
const test = testOf("policy");

async function world({
  remember,
  answerTimeout = "10m",
}: {
  remember?: string;
  answerTimeout?: string;
} = {}) {
  const asking = await startUpstream({
    key: "asking",
    name: "a modern server on a pipe",
    era: "modern",
    transport: "stdio",
  });
  const { gateway, lines } = await auditedGatewayOf({
    mcpServers: { asking: asking.entry },
    parkedCalls: { answerTimeout },
    policy: {
      rules: [
        { name: "ask", tools: ["asking__echo"], effect: "approve", ...(remember && { remember }) },
        { name: "no-sampling", on: "sampling", servers: ["asking"], effect: "deny" },
      ],
    },
  });
  const { url } = await gateway.start();
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    await asking.stop();
  });
  return { url, lines, ...hostOf(url) };
}

const about = (name: string) => ({
  principal: "anonymous",
  host: "a-host 1",
  target: `asking__${name}`,
  server: "asking",
});

describe("the audit log", () => {
  test.each(["accept", "decline", "cancel"])("has a question, and its answer %s", async (action) => {
    const { call, lines } = await world();
    const asked = await call("asking__form");
    expect(lines("question")).toEqual([{ ...about("form"), method: "elicitation/create", outcome: "asked" }]);
    await call("asking__form", asked, { action, content: { name: "the name of a person" } });
    expect(lines("question").slice(1)).toEqual([{ ...about("form"), outcome: action }]);
    expect(JSON.stringify(lines("question"))).not.toContain("the name of a person");
  });

  test("has a question that a rule refuses, and the rule", async () => {
    const { call, lines } = await world();
    await call("asking__sampling");
    expect(lines("question")).toEqual([
      {
        ...about("sampling"),
        method: "sampling/createMessage",
        decision: "deny",
        rule: "no-sampling",
        outcome: "refused",
      },
    ]);
  });

  test.each([
    ["accept", "accepted"],
    ["decline", "declined"],
    ["cancel", "declined"],
  ])("has an approval, and what the answer %s makes of it", async (action, decision) => {
    const { call, lines } = await world();
    const asked = await call("asking__echo");
    await call("asking__echo", asked, { action });
    expect(lines("question")).toEqual([{ ...about("echo"), method: "cardea/approval", outcome: "asked" }]);
    expect(lines("approval")).toEqual([{ ...about("echo"), decision, rule: "ask" }]);
  });

  test("has an expired approval if the person of a session does not answer in time", async () => {
    const { url, lines } = await world({ answerTimeout: "1s" });
    const host = new Client({ name: "a-host", version: "1" }, { capabilities: { elicitation: {} } });
    host.setRequestHandler(ElicitRequestSchema, () => new Promise(() => {}));
    onTestFinished(() => host.close());
    await host.connect(new StreamableHTTPClientTransport(new URL(url)) as never);
    expect(JSON.stringify(await host.callTool({ name: "asking__echo", arguments: {} }))).toContain(
      "was not approved",
    );
    expect(lines("approval")).toEqual([{ ...about("echo"), decision: "expired", rule: "ask" }]);
  });

  test("has a remembered approval that has expired", async () => {
    const { call, lines } = await world({ remember: "1s" });
    await call("asking__echo", await call("asking__echo"), { action: "accept" });
    const [, second] = await until("its end", () => lines("approval").length > 1 && lines("approval"));
    const { host: _, ...known } = about("echo");
    expect(second).toEqual({ ...known, rule: "ask", decision: "expired", outcome: "remembered" });
  });
});
