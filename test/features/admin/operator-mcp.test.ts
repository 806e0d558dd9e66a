/** `POST /api/v1/mcp`: the operator as a host of the gateway. */

import { afterAll, beforeAll, describe, expect } from "vitest";
import type { Gateway } from "../../../src/gateway/gateway.js";
import { inRepository } from "../../support/cardea.js";
import { testOf } from "../../support/features.js";
import { gatewayOf, listening } from "../../support/gateway.js";

/** The gateway of these tests has rules. */
const test = testOf("policy");

const TOKEN = "the-token-of-the-operator";
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const HEADERS: Readonly<Record<string, string>> = {
  authorization: `Bearer ${TOKEN}`,
  "content-type": "application/json",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
};

describe("the MCP endpoint of the admin listener", () => {
  let gateway: Gateway;
  let admin = "";
  beforeAll(async () => {
    gateway = await gatewayOf({
      listen: { http: { port: 0 }, admin: { port: 0, token: TOKEN } },
      mcpServers: {
        memory: {
          command: process.execPath,
          args: [inRepository("node_modules/@modelcontextprotocol/server-memory/dist/index.js")],
        },
      },
      policy: {
        rules: [
          { name: "operators-only-look", tools: ["*__delete_*"], principals: ["operator"], effect: "deny" },
        ],
      },
    });
    admin = (await listening(gateway)).adminUrl;
  });
  afterAll(() => gateway.stop());

  const post = (headers: Record<string, string>, body: object): Promise<Response> =>
    fetch(`${admin}/api/v1/mcp`, { method: "POST", headers, body: JSON.stringify(body) });
  const call = (name: string, args: object, changes: Readonly<Record<string, string>> = {}) =>
    post(
      { ...HEADERS, "mcp-name": name, ...changes },
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, _meta: META } },
    );

  test("calls a tool", async () => {
    const response = await call("memory__read_graph", {});
    const { result } = (await response.json()) as { result: { resultType: string; isError?: boolean } };
    expect([response.status, result.resultType, result.isError ?? false]).toEqual([200, "complete", false]);
    expect(response.headers.get("content-security-policy")).toContain("default-src 'self'");
  });

  test("is subject to the rules, as the principal operator", async () => {
    const response = await call("memory__delete_entities", { entityNames: [] });
    const { result } = (await response.json()) as { result: { isError?: boolean } };
    expect(result.isError).toBe(true);
    const decisions = await fetch(`${admin}/api/v1/decisions`, { headers: HEADERS });
    expect(await decisions.json()).toContainEqual(
      expect.objectContaining({ principal: "operator", rule: "operators-only-look", effect: "deny" }),
    );
  });

  test.each<[string, Record<string, string>, number]>([
    ["without a token", { authorization: "" }, 401],
    ["with a wrong token", { authorization: "Bearer another" }, 401],
    ["from a page of another site", { origin: "https://evil.example" }, 403],
    ["as a form of a page would send it", { "content-type": "text/plain" }, 415],
    ["with headers that say another tool", { "mcp-name": "memory__delete_entities" }, 400],
  ])("refuses a request %s", async (_, changes, status) => {
    expect((await call("memory__read_graph", {}, changes)).status).toBe(status);
  });

  test("refuses legacy hosts, and other HTTP methods", async () => {
    const { "mcp-protocol-version": _, "mcp-method": __, ...headers } = HEADERS;
    const initialize = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "a", version: "1" },
    };
    const response = await post(headers, { jsonrpc: "2.0", id: 1, method: "initialize", params: initialize });
    expect(response.status).toBe(400);
    expect(JSON.stringify(await response.json())).toContain("2026-07-28");
    const listed = await fetch(`${admin}/api/v1/mcp`, { headers: HEADERS });
    expect(listed.status).toBe(404);
  });

  test("is in the list of pages, so that the console finds it", async () => {
    const response = await fetch(`${admin}/api/v1`, { headers: HEADERS });
    expect(await response.json()).toHaveProperty("actions", expect.arrayContaining(["/api/v1/mcp"]));
  });
});
