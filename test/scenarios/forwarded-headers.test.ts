/** Headers of hosts that the config carries to a server: what is whose. */
import "../features/admin/needed.js";
import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { createGateway } from "../../src/gateway/gateway.js";
import { documentOf, folderWith, startApi } from "../support/api.js";
import { CHANNELS, openedFeatures, testOf } from "../support/features.js";
import { configOf, gatewayOf, listening } from "../support/gateway.js";
import { modernMeta } from "../support/host/host.mjs";
import { sseWire } from "../support/host/socket-wires.mjs";
import { pipeWire } from "../support/host/wires.mjs";
import { openLegacy, openModern } from "../support/peers/raw.js";
import { eachValue } from "../support/sample.js";
import { type TenantServer, tenantServer } from "../support/servers/tenants.js";
import { until } from "../support/until.js";

const HOSTS = { legacy: openLegacy, modern: openModern };
const ERAS = ["legacy", "modern"] as const;
const PAIRS = eachValue(
  "tenants",
  ERAS.flatMap((host) => ERAS.map((server) => [host, server] as const)),
  (pair) => pair,
);

const forwardHeaders = ["X-Tenant", { from: "x-user-key", to: "x-api-key" }];

/** A gateway in front of `server`, and how a host comes in with headers of its own. */
async function gatewayFor(server: TenantServer, entry: object = {}, config: object = {}) {
  const far = { url: server.url, forwardHeaders, ...entry };
  const file = { mcpServers: { far }, startupWait: "10m", ...config };
  const gateway = await gatewayOf(file);
  onTestFinished(() => gateway.stop({ immediate: true }));
  const { url, adminUrl } = await listening(gateway);
  const enter = async (era: (typeof ERAS)[number], headers: Readonly<Record<string, string>>) => {
    const host = await HOSTS[era]({ url }, { headers });
    onTestFinished(() => host.close());
    return host;
  };
  return {
    gateway,
    url,
    adminUrl,
    enter,
    reload: (more: object) => gateway.reload(configOf({ ...file, ...more })),
  };
}

const namesOf = (items: readonly object[]): readonly string[] =>
  items.map((item) => String((item as { name?: unknown }).name));

const whoAmI = async (host: Awaited<ReturnType<typeof openModern>>): Promise<string | undefined> => {
  const { result, error } = await host.request("tools/call", { name: "far__whoami", arguments: {} });
  const [content] = (result?.content ?? []) as { readonly text?: string }[];
  return content?.text?.split(" ")[0] ?? error?.message;
};

describe.each(PAIRS)("two tenants with %s hosts at a %s server", (hostEra, serverEra) => {
  test("get their own lists and answers, also those that are kept", async () => {
    const server = await tenantServer(serverEra);
    const { enter } = await gatewayFor(server);
    const ada = await enter(hostEra, { "x-tenant": "ada", "x-user-key": "key-of-ada" });
    const eve = await enter(hostEra, { "x-tenant": "eve" });
    for (let round = 0; round < 2; round += 1) {
      expect(namesOf(await ada.list("tools"))).toEqual(["far__whoami", "far__of-ada"]);
      expect(namesOf(await eve.list("tools"))).toEqual(["far__whoami", "far__of-eve"]);
      expect([await whoAmI(ada), await whoAmI(eve)]).toEqual(["ada", "eve"]);
    }
    // A modern server lets its answers be kept: each tenant has asked once.
    const calls = server.asked.filter(({ method }) => method === "tools/call");
    expect(calls.length).toBe(serverEra === "modern" ? 2 : 4);
    const keys = calls.map(({ headers }) => [
      headers["x-tenant"],
      headers["x-api-key"],
      headers["x-user-key"],
    ]);
    expect(keys.slice(0, 2)).toEqual([
      ["ada", "key-of-ada", undefined],
      ["eve", undefined, undefined],
    ]);
  });

  test("are notified of their own changes only", async () => {
    const server = await tenantServer(serverEra);
    const { enter } = await gatewayFor(server);
    const heard: Record<"ada" | "eve", number> = { ada: 0, eve: 0 };
    const hosts = {
      ada: await enter(hostEra, { "x-tenant": "ada" }),
      eve: await enter(hostEra, { "x-tenant": "eve" }),
    };
    for (const tenant of ["ada", "eve"] as const) {
      const host = hosts[tenant];
      await host.list("tools");
      await whoAmI(host);
      const stop = await host.follow({ toolsListChanged: true }, ({ method }) => {
        if (method === "notifications/tools/list_changed") heard[tenant] += 1;
      });
      onTestFinished(() => stop());
    }
    const [adaBefore, eveBefore] = [heard.ada, heard.eve];
    await until("the change of ada", () => {
      if (heard.ada === adaBefore) server.change("ada");
      return heard.ada > adaBefore || undefined;
    });
    await until("the new tool", async () =>
      namesOf(await hosts.ada.list("tools")).includes("far__new-0") ? true : undefined,
    );
    expect(heard.eve).toBe(eveBefore);
    expect(namesOf(await hosts.eve.list("tools"))).toEqual(["far__whoami", "far__of-eve"]);
  });
});

test.each(["shared", "principal", "session"])(
  "two tenants are kept apart with the lease %s",
  async (lease) => {
    const server = await tenantServer("legacy");
    const { enter } = await gatewayFor(server, { lease });
    for (const era of ERAS) {
      const ada = await enter(era, { "x-tenant": "ada" });
      const eve = await enter(era, { "x-tenant": "eve" });
      expect([await whoAmI(ada), await whoAmI(eve)]).toEqual(["ada", "eve"]);
      expect(namesOf(await ada.list("tools"))).toEqual(["far__whoami", "far__of-ada"]);
      expect(namesOf(await eve.list("tools"))).toEqual(["far__whoami", "far__of-eve"]);
    }
  },
);

test("hosts of the transport of 2024-11-05 send them too", async () => {
  const server = await tenantServer("legacy");
  const listen = { http: { port: 0, legacySse: true }, admin: { port: 0 } };
  const { url } = await gatewayFor(server, {}, { listen });
  for (const tenant of ["ada", "eve"]) {
    const host = await openLegacy(await sseWire(new URL("/sse", url).href, { "x-tenant": tenant }));
    onTestFinished(() => host.close());
    expect(await whoAmI(host)).toBe(tenant);
    expect(namesOf(await host.list("tools"))).toEqual(["far__whoami", `far__of-${tenant}`]);
  }
});

describe("a server that refuses requests without the header", () => {
  test.each(PAIRS)(
    "is used by %s hosts that send it (%s server), whatever the gateway itself gets",
    async (host, era) => {
      const server = await tenantServer(era);
      server.refused = (tenant) => (tenant === "nobody" ? 401 : undefined);
      const { enter, adminUrl } = await gatewayFor(server);
      const ada = await enter(host, { "x-tenant": "ada" });
      expect(namesOf(await ada.list("tools"))).toEqual(["far__whoami", "far__of-ada"]);
      expect(await whoAmI(ada)).toBe("ada");
      const other = await enter(host, {});
      expect(namesOf(await other.list("tools"))).toEqual([]);
      const [row] = (await (await fetch(`${adminUrl}/api/v1/servers`)).json()) as { state: string }[];
      expect(row?.state).toBe("ready");
    },
  );
});

test("a value of one host is in no log line, metric, page or list scope", async () => {
  const server = await tenantServer("modern");
  const lines: string[] = [];
  const log = (facts: object, sentence: string): void => void lines.push(JSON.stringify([facts, sentence]));
  const file = { mcpServers: { far: { url: server.url, forwardHeaders } }, startupWait: "10m" };
  const gateway = await gatewayOf(file, { debug: log, info: log, warn: log, error: log });
  onTestFinished(() => gateway.stop({ immediate: true }));
  const { url, adminUrl } = await listening(gateway);
  for (const open of [openModern, openLegacy]) {
    const host = await open(
      { url },
      { headers: { "x-tenant": "geheim-7x9q2", "x-user-key": "geheim-7x9q2" } },
    );
    onTestFinished(() => host.close());
    await host.list("tools");
    expect(await whoAmI(host)).toBe("geheim-7x9q2");
  }
  for (const page of [
    "metrics",
    ...["servers", "sessions", "catalog", "calls", "decisions"].map((one) => `api/v1/${one}`),
  ]) {
    const text = await (await fetch(`${adminUrl}/${page}`)).text();
    // The answer of the call has the tenant, and calls show no answers.
    expect(text).not.toContain("geheim");
  }
  expect(lines.join("\n")).not.toContain("geheim");
});

test("what a server calls public is private for a host that sends headers", async () => {
  const server = await tenantServer("modern");
  const { enter } = await gatewayFor(server);
  const scopes: unknown[] = [];
  for (const headers of [{ "x-tenant": "ada" }, {}]) {
    const host = await enter("modern", headers);
    for (let round = 0; round < 2; round += 1) {
      const { result } = await host.request("resources/read", { uri: "far+note:one" });
      scopes.push(result?.cacheScope);
    }
  }
  expect(scopes).toEqual(["private", "private", "public", "public"]);
});

test("what a host sends without an entry in the config, or by another spelling of the name, is as HTTP says", async () => {
  const server = await tenantServer("modern");
  const { enter } = await gatewayFor(server, { headers: { "X-Api-Key": "of-the-config" } });
  const ada = await enter("modern", {
    "X-TENANT": "ada",
    "x-other": "o",
    cookie: "c=1",
    "x-forwarded-for": "1.2.3.4",
  });
  await ada.list("tools");
  await whoAmI(ada);
  const headers = server.asked.find(({ method }) => method === "tools/call")?.headers ?? {};
  expect(headers).toMatchObject({ "x-tenant": "ada", "x-api-key": "of-the-config" });
  expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(["x-other"]));
  for (const name of ["x-other", "cookie", "x-forwarded-for"]) expect(headers[name]).toBeUndefined();
  // The value of the host is used in place of that of the config.
  const eve = await enter("modern", { "x-user-key": "of-eve" });
  await whoAmI(eve);
  expect(server.asked.map(({ headers: { "x-api-key": key } }) => key)).toContain("of-eve");
});

test("a value that is too long is refused, and says which header it is", async () => {
  const server = await tenantServer("modern");
  const { url } = await gatewayFor(server);
  const answer = await fetch(url, {
    method: "POST",
    headers: {
      ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
      "x-tenant": "a".repeat(5_000),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  });
  expect([answer.status, await answer.text()]).toEqual([
    400,
    expect.stringContaining("the header x-tenant is longer than 4096 characters"),
  ]);
});

test("a session belongs to the values that it was opened with", async () => {
  const server = await tenantServer("legacy");
  const { url, enter } = await gatewayFor(server);
  const ada = await enter("legacy", { "x-tenant": "ada" });
  const post = (headers: Readonly<Record<string, string>>) =>
    fetch(url, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        ...{ "mcp-session-id": String(ada.session), "mcp-protocol-version": "2025-11-25" },
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/list" }),
    });
  expect((await post({ "x-tenant": "eve" })).status).toBe(404);
  expect((await post({ "x-tenant": "ada", "x-user-key": "k" })).status).toBe(404);
  for (const headers of [{ "x-tenant": "ada" }, {}]) {
    const answer = await post(headers);
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("far__of-ada")]);
  }
});

test("many tenants of one principal are served, beyond the connections that are kept", async () => {
  const server = await tenantServer("modern");
  const { url } = await gatewayFor(server);
  const meta = modernMeta();
  const whoIs = async (tenant: string): Promise<string> => {
    const params = { name: "far__whoami", arguments: {}, _meta: meta };
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "far__whoami" },
        "x-tenant": tenant,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    });
    return answer.text();
  };
  const tenants = Array.from({ length: 300 }, (_, at) => `t${at}`);
  for (let at = 0; at < tenants.length; at += 20)
    for (const [index, text] of (await Promise.all(tenants.slice(at, at + 20).map(whoIs))).entries())
      expect(text).toContain(`"t${at + index} `);
  expect(await whoIs("t0")).toContain('"t0 ');
});

test("several lines of one header are one list, as HTTP has it", async () => {
  const server = await tenantServer("modern");
  const { url } = await gatewayFor(server);
  const params = { name: "far__whoami", arguments: {}, _meta: modernMeta() };
  await new Promise<void>((resolve, reject) => {
    const asked = request(url, {
      method: "POST",
      headers: {
        ...{ "content-type": "application/json", accept: "application/json, text/event-stream" },
        ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "far__whoami" },
        "x-tenant": ["ada", "eve"],
        "x-user-key": "",
      },
    });
    asked.once("response", (answer) => answer.resume().once("end", resolve)).once("error", reject);
    asked.end(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
  });
  const [call] = server.asked.filter(({ method }) => method === "tools/call");
  expect(call?.headers["x-tenant"]).toBe("ada, eve");
  expect(call?.headers).not.toHaveProperty("x-api-key");
});

testOf("openapi")(
  "an API gets the headers, its document is loaded once, and tools have no argument for them",
  async () => {
    const parameters = ["x-tenant", "x-api-key", "q"].map((name) => ({
      ...{ name, in: name === "q" ? "query" : "header", required: name !== "q", schema: { type: "string" } },
    }));
    const operation = { operationId: "where", parameters, responses: { 200: { description: "ok" } } };
    const document = documentOf({ "/here": { get: operation } });
    const text = (body: unknown) => ({ headers: { "content-type": "text/plain" }, body: String(body) });
    const api = await startApi(({ url, headers }) =>
      url === "/api.json" ? { body: JSON.stringify(document) } : text(headers["x-tenant"]),
    );
    const far = { type: "openapi", url: `${api.url}/api.json`, baseUrl: api.url };
    const { enter } = await gatewayFor({ url: `${api.url}/api.json` } as TenantServer, far);
    for (const era of ERAS) {
      for (const tenant of ["ada", "eve"]) {
        const host = await enter(era, { "x-tenant": tenant, "x-user-key": `key-of-${tenant}` });
        const [tool] = await host.list("tools");
        expect(
          Object.keys((tool as unknown as { inputSchema: { properties: object } }).inputSchema.properties),
        ).toEqual(["q"]);
        const { result } = await host.request("tools/call", { name: "far__where", arguments: {} });
        expect(result).toMatchObject({ content: [{ text: tenant }] });
      }
    }
    const keys = api.asked.filter(({ url }) => url === "/here").map(({ headers }) => headers["x-api-key"]);
    expect(keys).toEqual(["key-of-ada", "key-of-eve", "key-of-ada", "key-of-eve"]);
    expect(
      api.asked.filter(({ url }) => url === "/api.json").map(({ headers }) => headers["x-tenant"]),
    ).toEqual([undefined]);
  },
);

test("a host on standard streams sends none, and is served as one without", async () => {
  const server = await tenantServer("modern");
  const { gateway } = await gatewayFor(server);
  const [input, output] = [new PassThrough(), new PassThrough()];
  void gateway.stdio(input, output);
  onTestFinished(() => void input.end());
  const host = await openModern(pipeWire(input, output));
  expect(await whoAmI(host)).toBe("nobody");
});

test("a page of an allowed origin may send the headers of the config", async () => {
  const server = await tenantServer("modern");
  const { url } = await gatewayFor(server);
  const preflight = await fetch(url, {
    method: "OPTIONS",
    headers: {
      ...{ origin: "http://localhost:3000", "access-control-request-method": "POST" },
      "access-control-request-headers": "content-type, X-Tenant, x-user-key, x-other",
    },
  });
  expect(preflight.headers.get("access-control-allow-headers")).toBe("content-type, x-tenant, x-user-key");
});

testOf("kept-lists")("lists of hosts with headers are not kept for the next run", async () => {
  const folder = folderWith({});
  const server = await tenantServer("modern");
  const file = { mcpServers: { far: { url: server.url, forwardHeaders } }, startupWait: "10m" };
  const config = configOf(file);
  const features = await openedFeatures(config, { stateFolder: folder });
  const gateway = createGateway(config, {
    logger: SILENT,
    version: "0.0.0-test",
    features,
    channels: CHANNELS,
  });
  const { url } = await gateway.start();
  for (const tenant of ["geheim-7x9q2", undefined]) {
    const host = await openModern({ url }, { headers: tenant === undefined ? {} : { "x-tenant": tenant } });
    await host.list("tools");
    await host.close();
  }
  await gateway.stop({ immediate: true });
  const lists = join(folder, "lists");
  const kept = readdirSync(lists).map((name) => readFileSync(join(lists, name), "utf8"));
  expect(kept.join()).toContain("of-nobody");
  expect(kept.join()).not.toContain("geheim");
});

test("a changed config begins and ends it, and other hosts continue without the header", async () => {
  const server = await tenantServer("modern");
  const { enter, reload } = await gatewayFor(server);
  const ada = await enter("modern", { "x-tenant": "ada" });
  const other = await enter("modern", {});
  expect([await whoAmI(ada), await whoAmI(other)]).toEqual(["ada", "nobody"]);
  await reload({ mcpServers: { far: { url: server.url } } });
  expect([await whoAmI(ada), await whoAmI(other)]).toEqual(["nobody", "nobody"]);
  await reload({ mcpServers: { far: { url: server.url, forwardHeaders } } });
  expect([await whoAmI(ada), await whoAmI(other)]).toEqual(["ada", "nobody"]);
});
