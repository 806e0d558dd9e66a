/** Which lines the audit log has of what operators do: actions over the admin listener, and new configs. */
import "../admin/needed.js";
import { createHash } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, onTestFinished } from "vitest";
import { inRepository } from "../../support/cardea.js";
import { testOf } from "../../support/features.js";
import { configOf, listening } from "../../support/gateway.js";
import { hostOf } from "../../support/modern-host.js";
import { startUpstream } from "../../support/scripted/upstreams.js";
import { until } from "../../support/until.js";
import { auditedGatewayOf } from "./audited-gateway.js";

/** The gateway of these tests has rules. */
const test = testOf("policy");

const EVERYTHING = inRepository("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
/** A server with a tool that runs until it is cancelled. */
const EVERY = { every: { command: process.execPath, args: [EVERYTHING, "stdio"] } };
const TOKEN = "the-token-of-the-operator";
const BY = { principal: "admin-token", address: "127.0.0.1" };

async function world(more: object = {}) {
  const asking = await startUpstream({
    key: "asking",
    name: "a modern server on a pipe",
    era: "modern",
    transport: "stdio",
  });
  const file = {
    listen: { http: { port: 0, trustedProxies: ["loopback"] }, admin: { port: 0, token: TOKEN } },
    mcpServers: { asking: asking.entry, ...more },
    policy: { rules: [{ name: "ask", tools: ["asking__echo"], effect: "approve", remember: "1h" }] },
  };
  const { gateway, lines } = await auditedGatewayOf(file);
  const { url, adminUrl } = await listening(gateway);
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    await asking.stop();
  });
  const authorization = `Bearer ${TOKEN}`;
  return {
    ...{ url, adminUrl, file, gateway, lines },
    page: async (name: string) =>
      (await fetch(`${adminUrl}/api/v1/${name}`, { headers: { authorization } })).json() as Promise<never>,
    act: async (path: string, headers: Record<string, string> = { authorization }) =>
      (
        await fetch(`${adminUrl}/api/v1/${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: "{}",
        })
      ).status,
  };
}

describe("an operator action", () => {
  test("is a line, whatever its outcome", async () => {
    const { act, lines } = await world();
    expect(await act("servers/asking/restart")).toBe(200);
    expect(await act("servers/nothing/restart")).toBe(409);
    expect(await act("tools/asking__echo/disable")).toBe(200);
    expect(await act("tools/asking__echo/enable")).toBe(200);
    expect(lines("admin")).toEqual([
      { ...BY, method: "restart_server", target: "asking", server: "asking", outcome: "done" },
      {
        ...{ ...BY, method: "restart_server", target: "nothing", server: "nothing" },
        outcome: "there is no such server",
      },
      { ...BY, method: "disable_tool", target: "asking__echo", outcome: "done" },
      { ...BY, method: "enable_tool", target: "asking__echo", outcome: "done" },
    ]);
  });

  test("has the address that a trusted proxy names, and nothing that the request says of its sender", async () => {
    const { gateway, adminUrl, lines } = await world();
    await gateway.lists("tools");
    const sent = await fetch(`${adminUrl}/api/v1/servers/asking/restart`, {
      method: "POST",
      headers: {
        ...{ authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
        "x-forwarded-for": "10.9.8.7, 203.0.113.5",
      },
      body: JSON.stringify({ by: { principal: "ann", address: "192.0.2.1" } }),
    });
    expect(sent.status).toBe(200);
    expect(lines("admin")).toMatchObject([{ principal: "admin-token", address: "203.0.113.5" }]);
  });

  test("is no line if its sender is unauthorized", async () => {
    const { act, lines } = await world();
    expect(await act("servers/asking/restart", {})).toBe(401);
    expect(await act("servers/asking/restart", { authorization: "Bearer wrong" })).toBe(401);
    expect(lines("admin")).toEqual([]);
  });

  test("that revokes an approval is a line with the id of the approval", async () => {
    const { url, act, page, lines } = await world();
    const { call } = hostOf(url);
    await call("asking__echo", await call("asking__echo"), { action: "accept" });
    const [{ id } = { id: "" }] = (await page("approvals")) as readonly { id: string }[];
    expect(await act(`approvals/${id}/revoke`)).toBe(200);
    expect(lines("admin")).toEqual([{ ...BY, method: "revoke_approval", target: id, outcome: "done" }]);
  });

  test("that ends a session, or cancels a call, is a line with its handle or number", async () => {
    const { url, act, page, lines } = await world(EVERY);
    const host = new Client({ name: "a-host", version: "1" });
    onTestFinished(() => host.close());
    await host.connect(new StreamableHTTPClientTransport(new URL(url)) as never);
    const calling = host
      .callTool({ name: "every__trigger-long-running-operation", arguments: { duration: 600, steps: 6 } })
      .catch((error: Error) => error);
    const { id } = await until("the call", async () => {
      const running = (await page("calls/running")) as readonly { id: number }[];
      return running[0];
    });
    await until("its cancellation", async () => (await act(`calls/${id}/cancel`)) === 200);
    await calling;
    const [{ handle } = { handle: "" }] = (await page("sessions")) as readonly { handle: string }[];
    expect(await act(`sessions/${handle}/end`)).toBe(200);
    const done = lines("admin").filter(({ outcome }) => outcome === "done");
    expect(done).toEqual([
      { ...BY, method: "cancel_call", target: String(id), outcome: "done" },
      { ...BY, method: "end_session", target: handle, outcome: "done" },
    ]);
  });
});

describe("a config reload", () => {
  test("is a line with the digests of the old and new text; a refused one has the digest of the live text", async () => {
    const { file, gateway, lines } = await world();
    const next = JSON.stringify({ ...file, policy: {} });
    await gateway.reload(configOf(next));
    const after = createHash("sha256").update(next).digest("hex").slice(0, 16);
    gateway.reloadFailed(["it has a fault"]);
    const [reload] = lines("reload") as readonly { arguments: { before: string } }[];
    const before = reload?.arguments.before;
    expect(before).toMatch(/^[\da-f]{16}$/);
    expect(lines("reload")).toEqual([
      { outcome: "ok", arguments: { before, after } },
      { outcome: "refused", arguments: { before: after } },
    ]);
  });
});
