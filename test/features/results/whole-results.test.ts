/** What a budget does not change: the response cache has whole results, and the audit log the same lines. */
import { describe, expect, onTestFinished, test } from "vitest";
import { without } from "../../../src/wire/json.js";
import { testOf } from "../../support/features.js";
import { listening } from "../../support/gateway.js";
import { Host } from "../../support/host/host.mjs";
import type { Server } from "../../support/open-gateway.js";
import { recordingServer } from "../../support/servers/recording-server.js";
import { auditedGatewayOf } from "../audit/audited-gateway.js";
import { BUDGET, call, idOf, LARGE, opened, PROSE, readOn, textOf } from "./support.js";

describe.each(["legacy", "modern"] as const)("a %s host", (era) => {
  test("gets a preview of a cached result, of its own, and no time for which it holds", async () => {
    const cached: Server = {
      tools: [
        {
          name: "prose",
          inputSchema: { type: "object", properties: {} },
          annotations: { readOnlyHint: true },
        },
      ],
      answer: ({ method }) =>
        method === "tools/call"
          ? { content: [{ type: "text", text: PROSE }], ttlMs: 3_600_000, cacheScope: "public" }
          : undefined,
    };
    const running = await opened({ results: { maxTokens: BUDGET } }, cached);
    const [ann, bob] = [
      await running.host({ era, door: "http" }, "ann"),
      await running.host({ era, door: "http" }, "bob"),
    ];
    const [first, again, other] = [
      await call(ann, "big__prose"),
      await call(ann, "big__prose"),
      await call(bob, "big__prose"),
    ];
    expect(running.received.filter(({ method }) => method === "tools/call")).toHaveLength(1);
    for (const preview of [first, again, other]) {
      expect(preview).not.toHaveProperty("ttlMs");
      expect(preview).not.toHaveProperty("cacheScope");
    }
    expect(idOf(again)).toBe(idOf(first));
    expect(idOf(other)).not.toBe(idOf(first));
    expect(textOf(await readOn(bob, idOf(other), { limit: 1 }))).toBe("line 0: the quick brown fox");
    expect(await readOn(bob, idOf(first))).toMatchObject({ isError: true });
  });
});

/** The lines of a call of a tool with a large result, and of `after`, without what differs from run to run. */
async function linesOf(config: object, after: (host: Host, preview: object) => Promise<void>) {
  const server = await recordingServer("big", "modern", LARGE, () => {}, LARGE.answer);
  onTestFinished(server.close);
  const { gateway, lines } = await auditedGatewayOf({
    listen: { http: { port: 0 }, admin: { port: 0 } },
    startupWait: "10m",
    mcpServers: { big: { type: "http", url: server.url } },
    ...config,
  });
  onTestFinished(() => gateway.stop({ immediate: true }));
  const { url } = await listening(gateway);
  await gateway.lists("tools");
  const host = new Host(url, "modern", { agent: false });
  const params = { name: "big__prose", arguments: { "a-number": 1 } };
  const { result } = await host.send("call", "tools/call", params);
  await after(host, result as object);
  return lines("call").map((line) => without(line, ["ms", "host"]));
}

testOf("audit")(
  "the audit line of a call is the same with a budget; a read has a line with its own digest",
  async () => {
    const [plain] = await linesOf({}, async () => {});
    expect(plain).toMatchObject({
      method: "tools/call",
      target: "big__prose",
      outcome: "ok",
      argumentsDigest: expect.any(String),
    });
    const [line, first, second, gone] = await linesOf(
      { results: { maxTokens: BUDGET } },
      async (host, preview) => {
        const id = idOf(preview as never);
        for (const args of [{ id }, { id, offset: 7 }, { id: "0".repeat(32) }])
          await host.send(JSON.stringify(args), "tools/call", { name: "read_result", arguments: args });
      },
    );
    expect(line).toEqual(plain);
    expect([first, second]).toMatchObject([
      { method: "tools/call", target: "read_result", outcome: "ok" },
      { method: "tools/call", target: "read_result", outcome: "ok" },
    ]);
    expect(first?.argumentsDigest).not.toBe(second?.argumentsDigest);
    expect(gone).toMatchObject({ target: "read_result", outcome: "result_gone" });
  },
);
