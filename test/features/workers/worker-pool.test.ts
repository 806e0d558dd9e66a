/** `cardea serve --workers 2`: two processes that hosts, operators and servers cannot tell from one gateway. */
import { afterAll, beforeAll, describe, expect } from "vitest";
import { testOf } from "../../support/features.js";
import { type Fixture, startFixture } from "../../support/fixture.js";
import { textOf } from "../../support/host/host.mjs";
import { type Answer, JSON_HEADERS, send } from "../../support/http-host.js";
import { until } from "../../support/until.js";
import {
  accepted,
  callModern,
  codeIn,
  FORMS,
  legacyHost,
  roundIn,
  type Served,
  series,
  serveByTwo,
  textIn,
  times,
} from "./two-workers.js";

/** The gateway of these tests has rules. */
const test = testOf("policy");

const endings: (() => Promise<unknown>)[] = [];
const ends = (end: () => Promise<unknown>): void => void endings.push(end);
afterAll(async () => {
  for (const end of endings.reverse()) await end();
});

/** Two servers for all tests, and one gateway for those that leave it as it was. */
let one: Fixture;
let old: Fixture;
let shared: Served;
beforeAll(async () => {
  one = await startFixture("modern", "http");
  old = await startFixture("legacy", "http");
  endings.push(
    () => one.stop(),
    () => old.stop(),
  );
  shared = await serveByTwo(ends, {
    mcpServers: { one: one.entry, old: old.entry, asks: one.entry },
    listen: { http: { legacySse: true } },
    policy: { rules: [{ tools: ["asks__echo"], effect: "approve" }] },
  });
});

describe("sessions", () => {
  test("are served on any connection, and are spread over the workers", async () => {
    const sessions = async () => ((await shared.page("sessions")) as readonly unknown[]).length;
    const counts = async () => {
      const metrics = await shared.metrics();
      return {
        sessions: series(metrics, "cardea_sessions"),
        calls: series(metrics, 'cardea_requests_total{method="tools/call"'),
      };
    };
    const [listed, counted] = [await sessions(), await counts()];
    const hosts = await times(8, () => legacyHost(shared.url));
    expect(new Set(hosts.map(({ session }) => session?.split("-")[0]))).toEqual(new Set(["1", "2"]));
    const said = await times(80, async (at) =>
      textIn(await hosts[at % 8]!.call("one__echo", { value: `call ${at}` })),
    );
    expect(said).toEqual(Array.from({ length: 80 }, (_, at) => expect.stringContaining(`call ${at}`)));
    expect(await sessions()).toBe(listed + 8);
    expect(await counts()).toEqual({ sessions: counted.sessions + 8, calls: counted.calls + 80 });
  });

  test("end for every worker when they are deleted", async () => {
    const hosts = await times(4, () => legacyHost(shared.url));
    for (const host of hosts) {
      const headers = { "mcp-session-id": String(host.session), "mcp-protocol-version": "2025-11-25" };
      expect((await send(shared.url, { method: "DELETE", headers })).status).toBe(204);
    }
    const statuses = await times(
      16,
      async (at) => (await hosts[at % 4]!.call("one__echo", { value: "x" })).status,
    );
    expect(statuses).toEqual(Array.from({ length: 16 }, () => 404));
  });

  test("get their events and questions across workers", async () => {
    const answers = await times(12, async (at) => {
      const host = await legacyHost(shared.url, FORMS);
      const call = { name: "old__test_elicitation", arguments: { message: `who is ${at}?` } };
      const answer = { action: "accept", content: { response: `${at}` } };
      return textOf((await host.converse("tools/call", call, () => answer)).response);
    });
    expect(answers).toEqual(
      Array.from({ length: 12 }, (_, at) => `action=accept, content={"response":"${at}"}`),
    );
  });

  test("do not exist under the prefix of another or an unknown worker", async () => {
    const { session } = await legacyHost(shared.url);
    const [number, ...rest] = String(session).split("-");
    for (const other of [number === "1" ? "2" : "1", "3", "0", ""]) {
      const headers = {
        ...JSON_HEADERS,
        "mcp-session-id": [other, ...rest].join("-"),
        "mcp-protocol-version": "2025-11-25",
      };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
      expect((await send(shared.url, { body, headers })).status).toBe(404);
    }
  });

  test("of the HTTP+SSE transport of 2024-11-05 accept messages on any connection", async () => {
    const said = await times(6, async (at) => {
      const hangUp = new AbortController();
      const heard: string[] = [];
      let place = "";
      const stream = fetch(new URL("/sse", shared.url), { signal: hangUp.signal }).then(async (response) => {
        for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
          place ||= /data: (\/messages\S+)/.exec(chunk)?.[1] ?? "";
          heard.push(chunk);
        }
      });
      stream.catch(() => {});
      await until("the endpoint event", () => place !== "");
      const post = (body: object): Promise<Answer> =>
        send(new URL(place, shared.url).href, { body: JSON.stringify(body), headers: JSON_HEADERS });
      const params = {
        protocolVersion: "2024-11-05",
        capabilities: {},
        clientInfo: { name: "t", version: "1" },
      };
      await post({ jsonrpc: "2.0", id: 0, method: "initialize", params });
      await until("the session", () => heard.join("").includes("serverInfo"));
      await post({ jsonrpc: "2.0", method: "notifications/initialized" });
      const call = { name: "one__echo", arguments: { value: `said ${at}` } };
      for (const id of [1, 2, 3]) await post({ jsonrpc: "2.0", id, method: "tools/call", params: call });
      await until("three answers", () => heard.join("").split(`said ${at}`).length > 3);
      hangUp.abort();
      return at;
    });
    expect(said).toHaveLength(6);
  });

  test("are authenticated by the worker that owns them, also for forwarded requests", async () => {
    const hosts = await times(4, () => legacyHost(shared.url));
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    const { host } = new URL(shared.url);
    const length = ["content-length", String(body.length)];
    // Names and values in turn: a name may be there twice.
    const odd: [number, string[]][] = [
      [400, ["host", host, "host", "evil.example", ...length]],
      [403, ["host", "evil.example", ...length]],
      [403, ["host", host, "origin", "https://evil.example", ...length]],
    ];
    for (const [status, headers] of odd) {
      const statuses = await times(8, async (at) => {
        const own = Object.entries(hosts[at % 4]!.headersOf("tools/list"))
          .flat()
          .map(String);
        return (await send(shared.url, { body, headers: [...headers, ...own] })).status;
      });
      expect(new Set(statuses)).toEqual(new Set([status]));
    }
  });
});

describe("hosts without sessions", () => {
  test("may answer the question of a legacy server on any connection, and the tool runs once", async () => {
    const asked = () => old.ledger().filter(({ event }) => event === "asked").length;
    const before = asked();
    const call = { name: "old__test_elicitation", arguments: { message: "sure?" } };
    const ends = await times(12, async () => {
      const { inputRequests = {}, requestState } = roundIn(await callModern(shared.url, call));
      const [key = ""] = Object.keys(inputRequests);
      return callModern(shared.url, { ...call, inputResponses: { [key]: accepted }, requestState });
    });
    expect(ends.map(textIn)).toEqual(
      Array.from({ length: 12 }, () => 'action=accept, content={"response":"yes"}'),
    );
    expect(asked() - before).toBe(12);
  });

  test("cannot use a requestState at another worker, nor an approval twice", async () => {
    const call = { name: "asks__echo", arguments: { value: "approved" } };
    const { inputRequests = {}, requestState = "" } = roundIn(await callModern(shared.url, call));
    const inputResponses = Object.fromEntries(
      Object.keys(inputRequests).map((key) => [key, { action: "accept", content: {} }]),
    );
    const again = (state: string) => callModern(shared.url, { ...call, inputResponses, requestState: state });
    const other = requestState.startsWith("1-") ? "2-" : "1-";
    const moved = await times(4, () => again(other + requestState.slice(2)));
    expect(moved.map(codeIn)).toEqual(Array.from({ length: 4 }, () => "state_rejected"));
    const used = await times(6, () => again(requestState));
    expect(used.map(codeIn).filter((code) => code === undefined)).toHaveLength(1);
    expect(used.map(codeIn).filter((code) => code === "state_rejected")).toHaveLength(5);
  });
});
