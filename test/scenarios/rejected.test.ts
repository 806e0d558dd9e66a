/** Requests that an HTTP server rejects: each is sent once, its caller gets the error, and no other call is delayed. */
import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasFeature } from "../support/features.js";
import type { Json } from "../support/peers/host.js";
import { type Asked, answer, scriptedServer } from "../support/servers/scripted-http.js";
import { HOSTS, openHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const TOOLS = [
  { name: "look", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
  { name: "change", inputSchema: { type: "object" } },
];
const DONE = { resultType: "complete", content: [{ type: "text", text: "done" }] };
const RESOURCES = [{ name: "page", uri: "file:///page" }];

const HINTS = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
const CAPABILITIES = { tools: {}, resources: {} };
const TEMPLATES = [{ name: "any", uriTemplate: "file:///{x}" }];
const RESULTS: Json = {
  "tools/list": { ...HINTS, tools: TOOLS },
  "resources/list": { ...HINTS, resources: RESOURCES },
  "resources/templates/list": { ...HINTS, resourceTemplates: TEMPLATES },
  "server/discover": { ...HINTS, supportedVersions: ["2026-07-28"], capabilities: CAPABILITIES },
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: CAPABILITIES,
    serverInfo: { name: "strict", version: "1" },
  },
};

/** The HTTP status that a request is answered with; undefined for an answer that serves it. */
function statusFor(era: "legacy" | "modern", asked: Asked): number | undefined {
  if (asked.method !== "POST") return 405;
  const { method, params } = JSON.parse(asked.body) as { method: string; params?: { arguments?: Json } };
  if (method === "tools/call") return params?.arguments?.status as number | undefined;
  if (method === "resources/read") return 431;
  if (method === "server/discover") return era === "legacy" ? 404 : undefined;
  return method in RESULTS ? undefined : 202;
}

/** Answers a call with the HTTP status that its arguments ask for. */
const respond =
  (era: "legacy" | "modern") =>
  (asked: Asked, response: ServerResponse): void => {
    const status = statusFor(era, asked);
    if (status !== undefined) {
      const { params } = JSON.parse(asked.body || "{}") as { params?: { arguments?: Json } };
      const challenge = params?.arguments?.challenge;
      response.writeHead(status, challenge === undefined ? {} : { "www-authenticate": String(challenge) });
      response.end();
      return;
    }
    const { method } = JSON.parse(asked.body) as { method: string };
    if (method === "initialize") response.setHeader("mcp-session-id", "s");
    answer(asked, response, RESULTS[method] ?? DONE);
  };

async function strict(era: "legacy" | "modern") {
  const server = await scriptedServer(respond(era));
  onTestFinished(() => server.close());
  const stage: Stage = await openStage([], {
    config: { mcpServers: { strict: { type: "http", url: server.url } } },
  });
  onTestFinished(() => stage.close());
  const calls = () => server.asked.filter(({ body }) => /"(tools\/call|resources\/read)"/.test(body)).length;
  return { stage, calls };
}

const refusalOf = (response: Json): unknown => {
  const { result, error } = response as { result?: { _meta: Json }; error?: { data: { cardea: unknown } } };
  return result?._meta["cardea/refusal"] ?? error?.data.cardea;
};

describe.each(["legacy", "modern"] as const)("a %s server over HTTP", (era) => {
  describe.each([HOSTS.legacyHttp, HOSTS.modernHttp, HOSTS.modernStdio])("called by $name", (kind) => {
    test("gets a rejected request once, and the error is not retryable", async () => {
      const { stage, calls } = await strict(era);
      const host = await openHost(stage, kind);
      for (const status of [400, 403, 405, 409, 413, 422, 431]) {
        const before = calls();
        const response = await host.call("strict__look", { status }).outcome;
        expect(refusalOf(response)).toEqual({
          code: "upstream_rejected",
          server: "strict",
          retryable: false,
        });
        expect(calls() - before).toBe(1);
      }
    });

    test.each([
      ...(hasFeature("sign-in")
        ? [["asks for a sign-in where it asks for a token", "Bearer", "sign_in_required"]]
        : []),
      ["is an error that is not retryable where it asks for something else", "Basic", "upstream_unavailable"],
    ])("gets a request without credentials once, and its 401 %s", async (_, challenge, code) => {
      const { stage, calls } = await strict(era);
      const host = await openHost(stage, kind);
      const response = await host.call("strict__look", { status: 401, challenge }).outcome;
      expect(refusalOf(response)).toMatchObject({ code, retryable: false });
      expect(calls()).toBe(1);
    });

    test("stays in use after many rejected requests (no circuit breaker)", async () => {
      const { stage } = await strict(era);
      const rude = await openHost(stage, kind, { person: "eve" });
      for (let at = 0; at < 30; at += 1) {
        await rude.call(at % 2 === 0 ? "strict__look" : "strict__change", { status: [400, 402, 405][at % 3] })
          .outcome;
        await rude.raw.send(1000 + at, "resources/read", { uri: `strict+file:///${"x".repeat(2000)}` });
      }
      const host = await openHost(stage, HOSTS.modernHttp);
      const { result } = await host.call("strict__change", {}).outcome;
      expect(result).toMatchObject({ content: [{ text: "done" }] });
      expect(await stage.metric("cardea_circuit_state")).toBe(0);
    });
  });
});

test("a 404 of a server without sessions is an error of the request, without a retry", async () => {
  const { stage, calls } = await strict("modern");
  const host = await openHost(stage, HOSTS.modernHttp);
  const response = await host.call("strict__look", { status: 404 }).outcome;
  expect(refusalOf(response)).toMatchObject({ code: "upstream_rejected", retryable: false });
  expect(calls()).toBe(1);
});

test("failures of the server itself open the circuit breaker", async () => {
  const { stage } = await strict("modern");
  const host = await openHost(stage, HOSTS.modernHttp);
  for (let at = 0; at < 22; at += 1) await host.call("strict__change", { status: 500 }).outcome;
  expect(refusalOf(await host.call("strict__change", {}).outcome)).toMatchObject({
    code: "upstream_unavailable",
    retryable: true,
  });
});
