/** What operators do over the admin listener, and what comes of it at hosts and servers. */
import { describe, expect, onTestFinished, test } from "vitest";
import { META } from "../../../src/wire/names.js";
import { testOf } from "../../support/features.js";
import { gatewayOf, listening } from "../../support/gateway.js";
import { modernRequest, send } from "../../support/http-host.js";
import { startUpstream, UPSTREAMS } from "../../support/scripted/upstreams.js";

const TOKEN = "operator-token-of-this-test";

/** `hasListed: false`: the server is in its first start. */
async function started(file: object = {}, hasListed = true) {
  const kind = UPSTREAMS.find(({ transport }) => transport === "stdio") ?? UPSTREAMS[0];
  if (kind === undefined) throw new Error("there is no scripted server");
  const upstream = await startUpstream(kind);
  onTestFinished(() => upstream.stop());
  const listen = { http: { port: 0 }, admin: { port: 0, token: TOKEN } };
  const actions: object[] = [];
  const gateway = await gatewayOf(
    { listen, mcpServers: { one: upstream.entry }, ...file },
    { info: (fields, sentence) => void (sentence === "an operator acted" && actions.push(fields)) },
  );
  const { url, adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  if (hasListed) await gateway.lists("tools");
  const act = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`${adminUrl}/api/v1/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", ...headers },
      body: "{}",
    });
    return [response.status, await response.json()] as const;
  };
  const page = async (path: string) => {
    const response = await fetch(`${adminUrl}/api/v1/${path}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    return (await response.json()) as Record<string, unknown>[];
  };
  return { gateway, url, act, page, actions };
}

const DONE = [200, { done: true }];
const names = async (gateway: Awaited<ReturnType<typeof started>>["gateway"]) =>
  (await gateway.lists("tools")).map(({ item }) => item.name);

describe("a tool that is disabled", () => {
  test("is in no list and refused like an unknown tool, until it is enabled", async () => {
    const { gateway, act, page, actions } = await started();
    expect(await act("tools/one__echo/disable")).toEqual(DONE);
    expect(await names(gateway)).not.toContain("one__echo");
    expect(await gateway.call("one__echo", { text: "here" })).toMatchObject({ refusal: "unknown_target" });
    expect(await page("tools/disabled")).toEqual({ tools: ["one__echo"] });
    expect(await act("tools/one__echo/enable")).toEqual(DONE);
    expect(await names(gateway)).toContain("one__echo");
    expect(await act("tools/one__echo/enable")).toEqual([409, { error: "this tool is not disabled" }]);
    const by = { principal: "admin-token", address: "127.0.0.1" };
    expect(actions).toMatchObject([
      { action: "disable_tool", target: "one__echo", outcome: "done", ...by },
      { action: "enable_tool", outcome: "done" },
      { action: "enable_tool", outcome: "this tool is not disabled" },
    ]);
  });

  test("is found although its server is still starting", async () => {
    const { gateway, act } = await started({}, false);
    expect(await act("tools/one__echo/disable")).toEqual(DONE);
    expect(await names(gateway)).not.toContain("one__echo");
  });

  test("does not affect other tools, and an unknown tool is an error", async () => {
    const { gateway, act } = await started();
    const before = await names(gateway);
    await act("tools/one__echo/disable");
    expect(await names(gateway)).toEqual(before.filter((name) => name !== "one__echo"));
    expect(await act("tools/nothing/disable")).toEqual([409, { error: "there is no such tool" }]);
  });
});

test("a server is restarted, and serves calls again", async () => {
  const { gateway, act, page } = await started();
  expect(await act("servers/one/restart")).toEqual(DONE);
  expect(await page("servers")).toMatchObject([{ name: "one", state: "ready" }]);
  expect(await gateway.call("one__echo", { text: "again" })).toMatchObject({ kind: "result" });
  expect(await act("servers/two/restart")).toEqual([409, { error: "there is no such server" }]);
});

test("a session is ended by its handle, which is not its id; its next request gets 404", async () => {
  const { url, act, page } = await started();
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const params = {
    ...{ protocolVersion: "2025-11-25", capabilities: {} },
    clientInfo: { name: "h", version: "1" },
  };
  const opened = await send(url, {
    headers,
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
  const id = String(opened.headers["mcp-session-id"]);
  const [session] = await page("sessions");
  expect(id).not.toContain(String(session?.handle));
  expect(await act(`sessions/${String(session?.handle)}/end`)).toEqual(DONE);
  const after = await send(url, {
    headers: { ...headers, "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" }),
  });
  expect(after.status).toBe(404);
  expect(await act("sessions/none/end")).toEqual([409, { error: "there is no such session" }]);
});

test("a finished call cannot be cancelled", async () => {
  const { act } = await started();
  expect(await act("calls/77/cancel")).toEqual([409, { error: "no such call is running" }]);
});

testOf("policy")("a remembered approval is listed and revoked; the next call asks again", async () => {
  const { url, act, page } = await started({
    policy: { rules: [{ name: "ask", tools: ["*"], effect: "approve", remember: "1h" }] },
  });
  const params = { name: "one__echo", arguments: { text: "here" } };
  const meta = { meta: { [META.clientCapabilities]: { elicitation: { form: {} } } } };
  const ask = async (more: object = {}) =>
    JSON.parse((await send(url, modernRequest("tools/call", { ...params, ...more }, meta))).text).result;
  const question = await ask();
  expect(question.resultType).toBe("input_required");
  const [key] = Object.keys(question.inputRequests);
  const answered = await ask({
    inputResponses: { [String(key)]: { action: "accept", content: {} } },
    requestState: question.requestState,
  });
  expect(answered.content).toMatchObject([{ text: expect.stringContaining("here") }]);
  const [approval] = await page("approvals");
  expect(approval).toMatchObject({ rule: "ask", target: "one__echo", server: "one" });
  expect((await ask()).resultType).not.toBe("input_required");
  expect(await act(`approvals/${String(approval?.id)}/revoke`)).toEqual(DONE);
  expect(await page("approvals")).toEqual([]);
  expect((await ask()).resultType).toBe("input_required");
});

test.each([
  ["without a token", { authorization: "" }, 401],
  ["from a page of another site", { origin: "https://evil.example" }, 403],
  ["with another content type", { "content-type": "text/plain" }, 415],
])("an action %s is refused", async (_, headers, status) => {
  const { gateway, act, actions } = await started();
  expect((await act("tools/one__echo/disable", headers))[0]).toBe(status);
  expect(await names(gateway)).toContain("one__echo");
  expect(actions).toEqual([]);
});
