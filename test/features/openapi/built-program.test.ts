/** The built program in front of a real HTTP API. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { documentOf, folderWith, startApi } from "../../support/api.js";
import { type Serving, serveAtOnce } from "../../support/cardea.js";
import { metGateway } from "../../support/met-gateway.js";
import { openLegacy, openModern } from "../../support/peers/raw.js";
import { until } from "../../support/until.js";

const ok = { responses: { 200: { description: "ok" } } };
const PETS = {
  "/pets/{id}": {
    get: {
      operationId: "getPet",
      responses: { 200: { content: { "application/json": { schema: { type: "object" } } } } },
    },
    delete: { operationId: "deletePet", ...ok },
  },
};

async function serving(
  document: object,
  server: object = {},
  more: object = {},
  answer = (): object => ({}),
) {
  const api = await startApi(answer);
  const file = join(folderWith({ "api.json": document }), "api.json");
  const pets = { type: "openapi", spec: file, baseUrl: api.url, ...server };
  const gateway = await metGateway({ mcpServers: { pets }, ...more });
  onTestFinished(async () => void (await gateway.stop()));
  return { api, gateway };
}

const HOSTS = [
  ["legacy", openLegacy],
  ["modern", openModern],
] as const;

test.each(HOSTS)("a %s host lists the operations and calls them", async (_era, open) => {
  const json = { headers: { "content-type": "application/json" }, body: '{"name":"Rex"}' };
  const { api, gateway } = await serving(
    documentOf(PETS),
    { headers: { "X-Key": "k-12345678" } },
    {},
    () => json,
  );
  const host = await open({ url: gateway.url });
  onTestFinished(() => host.close());
  expect((await host.list("tools")).map(({ name }) => name)).toEqual(["pets__getPet", "pets__deletePet"]);
  const { result } = await host.request("tools/call", { name: "pets__getPet", arguments: { id: "7" } });
  expect(result).toMatchObject({ structuredContent: { name: "Rex" }, content: [{ text: '{"name":"Rex"}' }] });
  expect(api.asked).toMatchObject([{ method: "GET", url: "/pets/7", headers: { "x-key": "k-12345678" } }]);
});

test("filters, policy rules and refusals apply as to any server", async () => {
  const policy = { rules: [{ name: "no-deletes", annotations: { destructiveHint: true }, effect: "deny" }] };
  const busy = { status: 503, body: "busy" };
  const { api, gateway } = await serving(documentOf(PETS), {}, { policy }, () => busy);
  const host = await openModern({ url: gateway.url });
  onTestFinished(() => host.close());
  const call = async (name: string) =>
    (await host.request("tools/call", { name, arguments: { id: "7" } })).result?._meta;
  expect(await call("pets__deletePet")).toMatchObject({
    "cardea/refusal": { code: "denied", rule: "no-deletes" },
  });
  expect(api.asked).toEqual([]);
  expect(await call("pets__getPet")).toMatchObject({
    "cardea/refusal": { code: "upstream_unavailable", server: "pets" },
  });
});

describe("the built program", () => {
  const description = "x".repeat(2_000);
  const paths = Object.fromEntries(
    Array.from({ length: 200 }, (_, n) => [`/p${n}`, { get: { operationId: `op${n}`, description, ...ok } }]),
  );
  const wrong = { ...documentOf({}), openapi: "4.0", description: "x".repeat(300_000) };
  const folder = mkdtempSync(join(tmpdir(), "cardea-openapi-"));
  const [file, spec] = [join(folder, "api.json"), join(folder, "wrong.json")];
  let gateway: Serving;
  beforeAll(async () => {
    writeFileSync(file, JSON.stringify(documentOf(paths)));
    writeFileSync(spec, JSON.stringify(wrong));
    gateway = await serveAtOnce({
      mcpServers: {
        pets: { type: "openapi", spec: file, baseUrl: "http://127.0.0.1:9" },
        wrong: { type: "openapi", spec },
      },
    });
  });
  afterAll(async () => {
    await gateway.stop();
    rmSync(folder, { recursive: true });
  });
  const listed = async () => {
    const host = await openModern({ url: gateway.url });
    const names = (await host.list("tools")).map(({ name }) => name);
    await host.close();
    return names;
  };

  test("reads a large document in a worker thread, whole or not at all, and at SIGHUP another one", async () => {
    const names = await until("its tools", async () => {
      const found = await listed();
      return found.length > 0 && found;
    });
    expect(names).toHaveLength(200);
    writeFileSync(file, JSON.stringify(documentOf(PETS)));
    process.kill(gateway.process.pid, "SIGHUP");
    await until("the new tools", async () => (await listed()).join() === "pets__getPet,pets__deletePet");
  });

  test("gives the reason why a large document is invalid", async () => {
    await gateway.process.says(/wrong has a document of OpenAPI 4\.0; 3\.0 and 3\.1 are read/);
  });
});
