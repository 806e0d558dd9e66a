/** Limits under 64 hosts that call at the same moment, over real sockets: exact, and refusals have a retry time. */
import { Agent, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Gateway } from "../../../../src/gateway/gateway.js";
import { type JsonObject, objectAt, stringAt } from "../../../../src/wire/json.js";
import { gatewayOf } from "../../../support/gateway.js";
import { type RecordingServer, recordingServer } from "../../../support/servers/recording-server.js";

const HOSTS = 64;
const CALLS_EACH = 5;
const PLACES = 4;

let server: RecordingServer;
let gateway: Gateway;
let url: string;
const received = new Map<string, number>();
let inside = 0;
let mostInside = 0;
let allTaken = (): void => {};
const everyPlace = new Promise<void>((resolve) => {
  allTaken = resolve;
});

beforeAll(async () => {
  const offered = { tools: ["counted", "rated", "each", "narrow", "both"] };
  server = await recordingServer("a", "modern", offered, async ({ params }) => {
    const name = stringAt(params, "name") ?? "";
    received.set(name, (received.get(name) ?? 0) + 1);
    if (name !== "narrow") return;
    inside += 1;
    mostInside = Math.max(mostInside, inside);
    if (inside === PLACES) allTaken();
    // However slowly calls come on a busy machine: the first ones stay until all places are taken.
    await everyPlace;
    await new Promise((resolve) => void setImmediate(resolve));
    inside -= 1;
  });
  const config = {
    mcpServers: { a: { type: "http", url: server.url } },
    limits: [
      { name: "quota", tools: ["a__counted"], quota: "100/day" },
      { name: "rate", tools: ["a__rated"], rate: "50/h", burst: 20 },
      { name: "each", tools: ["a__each"], quota: "3/day", per: "session" },
      { name: "places", tools: ["a__narrow"], concurrency: PLACES, queue: 50 },
      { name: "outer", tools: ["a__both"], quota: "30/day" },
      { name: "inner", tools: ["a__both"], quota: "2/day", per: "session" },
    ],
  };
  gateway = await gatewayOf(config);
  ({ url } = await gateway.start());
  await gateway.lists("tools");
});

afterAll(async () => {
  await gateway.stop({ immediate: true });
  await server.close();
});

interface Host {
  call(name: string): Promise<JsonObject>;
  close(): void;
}

/** A host with a connection and a session of its own. */
async function openHost(): Promise<Host> {
  const agent = new Agent({ keepAlive: true, maxSockets: CALLS_EACH });
  const headers: Record<string, string> = {};
  const post = (message: object): Promise<JsonObject> =>
    new Promise((resolve, reject) => {
      const accept = "application/json, text/event-stream";
      const sent = request(url, {
        method: "POST",
        agent,
        headers: { "content-type": "application/json", accept, ...headers },
      });
      sent.on("error", reject);
      sent.on("response", (response) => {
        const session = response.headers["mcp-session-id"];
        if (typeof session === "string") headers["mcp-session-id"] = session;
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("end", () => {
          const text = Buffer.concat(parts).toString("utf8");
          resolve(text === "" ? {} : (JSON.parse(text) as JsonObject));
        });
      });
      sent.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
    });
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
  await post({ id: 0, method: "initialize", params });
  await post({ method: "notifications/initialized" });
  let id = 0;
  return {
    call: async (name) => {
      id += 1;
      const { result } = await post({ id, method: "tools/call", params: { name, arguments: {} } });
      return result as JsonObject;
    },
    close: () => agent.destroy(),
  };
}

/** What each host got for its calls, all made at once. */
async function calledByAll(name: string): Promise<readonly (readonly JsonObject[])[]> {
  const hosts = await Promise.all(Array.from({ length: HOSTS }, openHost));
  const results = await Promise.all(
    hosts.map((host) => Promise.all(Array.from({ length: CALLS_EACH }, () => host.call(name)))),
  );
  for (const host of hosts) host.close();
  return results;
}

const refusalIn = (result: JsonObject): JsonObject | undefined =>
  objectAt(objectAt(result, "_meta"), "cardea/refusal");
const passed = (results: readonly JsonObject[]): number =>
  results.filter((it) => refusalIn(it) === undefined).length;

function expectTold(results: readonly JsonObject[], code: string, rules: readonly string[]): void {
  for (const refusal of results.map(refusalIn)) {
    if (refusal === undefined) continue;
    expect(refusal).toMatchObject({ code, retryable: true, server: "a" });
    expect(rules).toContain(refusal.rule);
    expect(refusal.retryAfterMs).toBeGreaterThan(0);
  }
}

describe(`${HOSTS} hosts with ${CALLS_EACH} calls each at once`, () => {
  test("share a quota of a day to the last call", async () => {
    const all = (await calledByAll("a__counted")).flat();
    expect([passed(all), received.get("counted")]).toEqual([100, 100]);
    expectTold(all, "rate_limited", ["quota"]);
  });

  test("share a rate: its burst and no more", async () => {
    const all = (await calledByAll("a__rated")).flat();
    expect([passed(all), received.get("rated")]).toEqual([20, 20]);
    expectTold(all, "rate_limited", ["rate"]);
  });

  test("have separate budgets", async () => {
    const results = await calledByAll("a__each");
    expect(results.map(passed)).toEqual(Array.from({ length: HOSTS }, () => 3));
    expectTold(results.flat(), "rate_limited", ["each"]);
  });

  test("pay for nothing that another limit refuses", async () => {
    const results = await calledByAll("a__both");
    expect([passed(results.flat()), received.get("both")]).toEqual([30, 30]);
    expect(Math.max(...results.map(passed))).toBeLessThanOrEqual(2);
    expectTold(results.flat(), "rate_limited", ["inner", "outer"]);
  });

  test("queue for a limited number of slots, and are refused where the queue is full", async () => {
    const all = (await calledByAll("a__narrow")).flat();
    expect(mostInside).toBe(PLACES);
    expect(passed(all)).toBe(received.get("narrow"));
    expect(passed(all)).toBeGreaterThanOrEqual(54);
    expectTold(all, "queue_full", ["places"]);
  });
});
