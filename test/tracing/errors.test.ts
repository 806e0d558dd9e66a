/** What spans say of calls that fail: at the host's end by other rules than at the server's. */
import { expect, onTestFinished, test } from "vitest";
import { openGateway } from "../policy/gateway.js";
import { startCollector } from "../support/collector.js";

const TOOLS = ["say", "hide"].map((name) => ({ name, inputSchema: { type: "object" } }));

/** A modern server that answers each call with an error of this code. */
async function calling(answer: object, name = "s__say", config: object = {}) {
  const collector = await startCollector();
  onTestFinished(() => collector.stop());
  const { host } = await openGateway(
    {
      s: { tools: TOOLS, answer: ({ method }) => (method === "tools/call" ? (answer as never) : undefined) },
    },
    { telemetry: { otlp: { endpoint: collector.endpoint } }, ...config },
  );
  const raw = await host({ era: "modern", door: "http" });
  await raw.request("tools/call", { name, arguments: {} });
  return collector;
}

test("a tool that fails is an error at both ends, of the type tool_error", async () => {
  const collector = await calling({ content: [{ type: "text", text: "private words" }], isError: true });
  const spans = await collector.received(2);
  for (const span of spans) {
    expect(span).toMatchObject({ status: { code: 2 }, attributes: { "error.type": "tool_error" } });
    expect(span.attributes).not.toHaveProperty("rpc.response.status_code");
  }
  expect(JSON.stringify(spans)).not.toContain("private words");
});

test("a call that a rule refuses has one span, which names the rule", async () => {
  const policy = { rules: [{ name: "no hiding", tools: ["s__hide"], effect: "deny" }] };
  const collector = await calling({ content: [] }, "s__hide", { policy });
  const spans = await collector.received(1);
  expect(spans).toMatchObject([
    {
      kind: "server",
      attributes: { "cardea.outcome": "denied", "cardea.rule": "no hiding", "gen_ai.tool.name": "s__hide" },
    },
  ]);
});
