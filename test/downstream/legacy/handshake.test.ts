/** Opening a legacy session over HTTP, and what is refused before and beside it. */
import { describe, expect, test } from "vitest";
import { echo, textReply } from "../../support/fake-port.js";
import { edgeHost, edgeServer, Host, initializeMessage, type Message } from "./support.js";

const LONG = "x".repeat(65_536);

describe("initialize", () => {
  test.each([
    ["2025-11-25", "2025-11-25"],
    ["2025-06-18", "2025-06-18"],
    ["2025-03-26", "2025-03-26"],
    ["2024-11-05", "2024-11-05"],
    ["2026-07-28", "2025-11-25"],
    ["1.0", "2025-11-25"],
  ])("a host that asks for %s gets %s", async (version, negotiated) => {
    const { host } = await edgeHost({}, { version });
    expect(host.initialize.protocolVersion).toBe(negotiated);
  });

  test("the response to initialize has the introduction for this client", async () => {
    const { server, host } = await edgeHost({
      introduction: {
        capabilities: {
          tools: { listChanged: true },
          completions: {},
          extensions: { "io.modelcontextprotocol/tasks": {}, "io.modelcontextprotocol/ui": { a: 1 } },
          "x-vendor": { kept: true },
        },
        instructions: "Be kind.",
      },
    });
    expect(host.initialize).toEqual({
      protocolVersion: "2025-11-25",
      serverInfo: { name: "cardea", version: "0.0.0-test" },
      capabilities: {
        tools: { listChanged: true },
        completions: {},
        extensions: { "io.modelcontextprotocol/ui": { a: 1 } },
        "x-vendor": { kept: true },
      },
      instructions: "Be kind.",
    });
    const old = await server.host({ version: "2024-11-05" });
    expect(old.initialize.capabilities).not.toHaveProperty("completions");
  });

  test("only those capabilities of a client count that its revision knows, and the modes that it names", async () => {
    const server = await edgeServer({ handlers: { "tools/call": () => textReply("ok") } });
    const capabilities = {
      elicitation: { form: {}, url: {} },
      sampling: { tools: {}, context: {} },
      roots: { listChanged: true },
      tasks: {},
    };
    for (const version of ["2024-11-05", "2025-06-18", "2025-11-25"]) {
      const host = await server.host({ version, capabilities });
      await host.request("tools/call", { name: "t" });
    }
    expect(server.port.calls.map((call) => call.client.capabilities)).toEqual([
      { sampling: {}, roots: { listChanged: true } },
      { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } },
      capabilities,
    ]);
  });

  test("each session has an unguessable id, which names it", async () => {
    const server = await edgeServer({ handlers: { "tools/call": echo } });
    const [one, two] = [await server.host(), await server.host()];
    expect(one.sessionId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/);
    expect(one.sessionId).not.toBe(two.sessionId);
    await one.request("tools/call", { name: "a" });
    expect(server.port.calls[0]?.client).toMatchObject({
      affinity: one.sessionId,
      session: true,
      endpoint: "",
      info: { name: "test-host" },
    });
  });

  test("parameters that cannot be read are refused with -32602", async () => {
    const server = await edgeServer();
    const host = new Host(server.url, {}, {});
    const answers = [
      await host.request("initialize", { capabilities: {} }),
      await host.request("initialize", { protocolVersion: 7 }),
      await host.request("initialize", { protocolVersion: "2025-06-18", capabilities: [] }),
      await host.request("initialize", { protocolVersion: "2025-06-18", capabilities: { x: LONG } }),
      await host.request("initialize", {
        protocolVersion: "2025-06-18",
        clientInfo: { name: "n", icons: [LONG] },
      }),
    ];
    expect(answers.map(({ error }) => error?.code)).toEqual(Array.from({ length: 5 }, () => -32602));
    expect(server.edge.sessions()).toEqual([]);
  });

  test("a session is not initialized twice; with an unknown session id a new one is opened", async () => {
    const { host } = await edgeHost();
    const again = await host.post(initializeMessage());
    expect(again.status).toBe(400);
    await host.delete();
    const anew = await host.post(initializeMessage());
    expect(anew.status).toBe(200);
    expect(anew.headers.get("mcp-session-id")).not.toBe(host.sessionId);
  });
});

describe("before and beside a session", () => {
  test("a request without a session id is refused with 400, except a ping", async () => {
    const server = await edgeServer({ handlers: { "tools/list": () => textReply("no") } });
    const host = new Host(server.url, {}, {});
    const refused = await host.post({ jsonrpc: "2.0", id: 5, method: "tools/list" });
    expect([refused.status, (refused.json as Message).id]).toEqual([400, 5]);
    expect(await host.request("ping", {}, "p")).toEqual({ jsonrpc: "2.0", id: "p", result: {} });
    expect((await host.get()).status).toBe(400);
    expect((await host.delete()).status).toBe(400);
    expect(server.port.calls).toEqual([]);
  });

  test("a session is bound to its principal and its scope; to all others it is 404", async () => {
    const { server, host } = await edgeHost(
      { handlers: { "tools/call": echo } },
      { principal: "ann", scope: "files" },
    );
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "t" } };
    const stranger = new Host(host.url, { ...host.headers, "x-principal": "bob" }, {});
    const elsewhere = new Host(server.url, host.headers, {});
    for (const thief of [stranger, elsewhere]) {
      expect((await thief.post(call)).status).toBe(404);
      expect((await thief.get()).status).toBe(404);
      expect((await thief.delete()).status).toBe(404);
    }
    expect((await host.post(call)).status).toBe(200);
    expect(server.port.calls).toHaveLength(1);
  });

  test("after DELETE the id is unknown, and what was kept for the client is forgotten", async () => {
    const { server, host } = await edgeHost();
    expect((await host.delete()).status).toBe(204);
    expect((await host.post({ jsonrpc: "2.0", id: 1, method: "tools/list" })).status).toBe(404);
    expect(server.port.forgotten).toEqual([host.sessionId]);
    expect(server.port.interests).toEqual([]);
  });

  test.each([
    ["2025-11-25", 200],
    ["2024-11-05", 200],
    ["2099-01-01", 400],
    ["nonsense", 400],
  ])("MCP-Protocol-Version: %s is answered with %i", async (version, status) => {
    const { host } = await edgeHost({ handlers: { "tools/list": () => textReply("x") } });
    const request = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    expect((await host.post(request, { "mcp-protocol-version": version })).status).toBe(status);
  });

  test("without MCP-Protocol-Version the negotiated revision counts", async () => {
    const { host } = await edgeHost({ handlers: { "tools/call": echo } }, { version: "2025-06-18" });
    const bare = new Host(host.url, { "mcp-session-id": host.sessionId }, {});
    expect((await bare.request("tools/call", { name: "a" })).result).toBeDefined();
  });

  test("a GET must accept an event stream", async () => {
    const { host } = await edgeHost();
    expect((await host.get({ accept: "application/json" })).status).toBe(406);
  });
});

describe("what a session answers itself", () => {
  test("ping is answered with an empty result", async () => {
    const { host } = await edgeHost();
    expect(await host.request("ping", {}, 0)).toEqual({ jsonrpc: "2.0", id: 0, result: {} });
  });

  test("the log level is kept for the session and goes with its calls", async () => {
    const server = await edgeServer({ handlers: { "tools/call": echo } });
    const [loud, quiet] = [await server.host(), await server.host()];
    expect(await loud.request("logging/setLevel", { level: "debug" })).toMatchObject({ result: {} });
    await loud.request("tools/call", { name: "a" });
    await quiet.request("tools/call", { name: "b" });
    expect(server.port.calls.map((call) => call.logLevel)).toEqual(["debug", undefined]);
  });

  test("an unknown log level is refused with -32602", async () => {
    const { host } = await edgeHost();
    expect((await host.request("logging/setLevel", { level: "loud" })).error?.code).toBe(-32602);
    expect((await host.request("logging/setLevel", {})).error?.code).toBe(-32602);
  });

  test("methods of the modern era are unknown here", async () => {
    const { host } = await edgeHost();
    expect((await host.request("server/discover")).error?.code).toBe(-32601);
  });
});
