/** The OpenAPI document of the admin API, held against a running gateway: its routes, and each of its answers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { describe, expect, onTestFinished } from "vitest";
import { NOTHING_ADDED } from "../../../src/core/admin-page.js";
import { SILENT } from "../../../src/core/logger.js";
import { OPERATOR_ACTIONS } from "../../../src/features/admin/actions.js";
import { adminApp } from "../../../src/features/admin/app.js";
import { openApiDocument } from "../../../src/features/admin/openapi.js";
import { PAGE_TABLE } from "../../../src/features/admin/page-table.js";
import { Metrics } from "../../../src/telemetry/metrics.js";
import { FEATURES, testOf } from "../../support/features.js";
import { gatewayOf, listening } from "../../support/gateway.js";
import { modernRequest, send } from "../../support/http-host.js";
import { startUpstream, UPSTREAMS } from "../../support/scripted/upstreams.js";

/** The gateway of these tests has rules. */
const test = testOf("policy");

const TOKEN = "operator-token-of-this-test";

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
  }[];
  readonly responses: Readonly<Record<string, { readonly content: Record<string, { schema: object }> }>>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

async function started() {
  const [kind] = UPSTREAMS;
  if (kind === undefined) throw new Error("there is no scripted server");
  const upstream = await startUpstream(kind);
  onTestFinished(() => upstream.stop());
  const folder = mkdtempSync(join(tmpdir(), "cardea-openapi-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const config = {
    listen: { http: { port: 0 }, admin: { port: 0, token: TOKEN, showArguments: true } },
    policy: { rules: [{ name: "no", tools: ["*nothing*"], effect: "deny" }] },
    mcpServers: { one: upstream.entry },
  };
  const gateway = await gatewayOf(config, {}, folder);
  const { url, adminUrl } = await listening(gateway);
  onTestFinished(() => gateway.stop({ immediate: true }));
  await gateway.lists("tools");
  const ask = (path: string, body?: object) =>
    fetch(`${adminUrl}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const document = (await (await ask("/api/v1/openapi.json")).json()) as Document;
  return { gateway, url, ask, document };
}

const ajv = new Ajv2020({ strict: false });
formats.default(ajv);

/** What is wrong with a JSON answer, by the document. */
function faultsOf(document: Document, method: string, path: string, status: number, answer: unknown) {
  const responses = document.paths[path]?.[method]?.responses;
  const schema = (responses?.[status] ?? responses?.default)?.content["application/json"]?.schema;
  if (schema === undefined) return [`${method} ${path}: no schema for ${status}`];
  const { $schema: _, ...plain } = schema as { $schema?: string };
  const validate = ajv.compile(plain);
  return validate(answer)
    ? []
    : (validate.errors ?? []).map((e) => `${path}${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`);
}

/** Pages whose query has a required word. */
const QUERIES: Readonly<Record<string, string>> = {
  "/api/v1/lists": "?kind=tools",
  "/api/v1/explain": "?name=one__echo&args=%7B%7D",
};

describe("the OpenAPI document", () => {
  test("matches the response of every page", async () => {
    const { gateway, url, ask, document } = await started();
    await gateway.call("one__echo", { text: "here" });
    await gateway.call("one__nothing", {});
    await send(url, modernRequest("tools/call", { name: "one__echo", arguments: { text: "a" } }));
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "h", version: "1" },
    };
    await send(url, {
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    });
    const faults: string[] = [];
    for (const [path, { get }] of Object.entries(document.paths)) {
      if (get === undefined || path.endsWith("/stream")) continue;
      const response = await ask(`${path}${QUERIES[path] ?? ""}`);
      faults.push(...faultsOf(document, "get", path, response.status, await response.json()));
      if (response.status !== 200) faults.push(`${path}: ${response.status}`);
    }
    expect(faults).toEqual([]);
  });

  test("matches the responses of actions, successful and refused", async () => {
    const { ask, document } = await started();
    for (const [path, target, status] of [
      ["/api/v1/tools/{target}/disable", "one__echo", 200],
      ["/api/v1/tools/{target}/enable", "one__echo", 200],
      ["/api/v1/servers/{target}/restart", "two", 409],
      ["/api/v1/sessions/{target}/end", "none", 409],
      ["/api/v1/calls/{target}/cancel", "9999", 409],
      ["/api/v1/approvals/{target}/revoke", "none", 409],
    ] as const) {
      const response = await ask(path.replace("{target}", target), {});
      expect([path, response.status]).toEqual([path, status]);
      expect(faultsOf(document, "post", path, status, await response.json())).toEqual([]);
    }
  });

  test("marks as required exactly those parameters without which a page is refused", async () => {
    const { ask, document } = await started();
    const required: string[] = [];
    for (const [path, { get }] of Object.entries(document.paths)) {
      if (get === undefined || path.endsWith("/stream")) continue;
      const query = (get.parameters ?? []).filter((one) => one.in === "query");
      const asked = new URLSearchParams(QUERIES[path] ?? "");
      for (const { name, required: isRequired = false } of query) {
        const rest = new URLSearchParams(asked);
        rest.delete(name);
        const { status } = await ask(`${path}?${rest}`);
        expect([path, name, status]).toEqual([path, name, isRequired ? 400 : 200]);
        if (isRequired) required.push(`${path} ${name}`);
      }
    }
    expect(required).toEqual(["/api/v1/lists kind", "/api/v1/explain name"]);
  });

  test("has the pages of the listener that serves it: that of workers only where there are some", () => {
    const paths = (pages: readonly string[]) => {
      const served = PAGE_TABLE.filter(({ path }) => pages.includes(path));
      const document = openApiDocument({ version: "1", pages: served, ofFeatures: [], added: NOTHING_ADDED });
      return Object.keys((document as Document).paths);
    };
    expect(paths(["status", "workers"])).toContain("/api/v1/workers");
    expect(paths(["status"])).not.toContain("/api/v1/workers");
    expect(paths(["status"])).toContain("/api/v1/status");
    expect(paths([])).toContain("/api/v1/openapi.json");
  });

  test("lists every route of the listener and no other", async () => {
    const { ask, document } = await started();
    const unused = async () => undefined;
    const featureAdmin = await Promise.all(FEATURES.flatMap((feature) => feature.loadAdmin?.() ?? []));
    const app = adminApp(
      {
        host: "127.0.0.1",
        port: 0,
        logger: SILENT,
        metrics: new Metrics({ version: "1", process: false }),
        readiness: () => ({ ready: true, reasons: [] }),
        pages: async () => [],
        call: async () => "{}",
        callFeed: { follow: () => () => {} },
        mcp: async () => {},
        actions: {
          kinds: [
            ...OPERATOR_ACTIONS,
            ...featureAdmin.flatMap(({ operatorActions = [] }) => operatorActions),
          ],
          act: unused,
        },
        featureActions: { actions: featureAdmin.flatMap(({ actions }) => actions), passOn: unused },
      },
      [],
    );
    const routes = app.routes
      .filter(
        ({ method, path }) =>
          method !== "ALL" && (path.startsWith("/api/") || path.endsWith("yz") || path.endsWith("thz")),
      )
      .filter(({ path }) => path !== "/api/v1/:page")
      .map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, "{$1}")}`);
    const { pages } = (await (await ask("/api/v1")).json()) as { pages: string[] };
    const served = new Set([...routes, ...pages.map((path) => `get ${path}`)]);
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path}`),
    );
    expect(new Set(described)).toEqual(served);
  });
});
