/** The server card: what of a gateway is public (SEP-2127, a draft), and how `cardea add URL` uses that of another server. */
import "../features/admin/needed.js";
import { hash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { fixtureCommand } from "../support/fixture.js";
import { gatewayOf } from "../support/gateway.js";
import { send } from "../support/http-host.js";
import { atHome, atTerminal } from "./at-home.js";

const CARD_TYPE = "application/mcp-server-card+json";
const KEYS = { keys: [{ id: "ann", hash: `sha256:${hash("sha256", "a key")}` }] };

async function gateway(serverCard: unknown, more: object = {}, http: object = {}): Promise<string> {
  const one = await gatewayOf({
    listen: { http: { port: 0, serverCard, ...http }, admin: { port: 0 } },
    mcpServers: { payroll: fixtureCommand("legacy") },
    profiles: { hidden: { servers: ["payroll"] } },
    ...more,
  });
  onTestFinished(() => one.stop({ immediate: true }));
  return (await one.start()).url;
}
const at = (url: string, path: string): string => `${new URL(url).origin}${path}`;

describe("a gateway with listen.http.serverCard", () => {
  test("shows a card and a catalog without credentials, which lead to its address", async () => {
    const url = await gateway(true);
    const card = await send(`${url}/server-card`, { method: "GET" });
    expect([card.status, card.headers["content-type"]]).toEqual([200, CARD_TYPE]);
    expect(card.json()).toMatchObject({
      $schema: "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
      name: "127.0.0.1/cardea",
      version: expect.any(String),
      remotes: [
        {
          type: "streamable-http",
          url,
          supportedProtocolVersions: expect.arrayContaining(["2025-11-25", "2026-07-28"]),
        },
      ],
    });
    for (const path of ["/.well-known/mcp/catalog.json", "/.well-known/ai-catalog.json"]) {
      const catalog = await send(at(url, path), { method: "GET" });
      expect(catalog.headers["content-type"]).toBe("application/ai-catalog+json");
      expect(catalog.json()).toEqual({
        specVersion: "1.0",
        entries: [{ identifier: "urn:air:127.0.0.1:mcp:cardea", type: CARD_TYPE, url: `${url}/server-card` }],
      });
    }
  });

  test("names neither servers, profiles and tools nor principals, and says that a key is needed", async () => {
    const url = await gateway(
      { name: "com.example/tools", title: "Tools", description: "of the team" },
      { auth: KEYS },
      { publicUrl: "https://mcp.example.com" },
    );
    const headers = { host: "mcp.example.com" };
    const texts = ["/mcp/server-card", "/.well-known/mcp/catalog.json"].map(
      async (path) => (await send(at(url, path), { method: "GET", headers })).text,
    );
    const all = (await Promise.all(texts)).join();
    expect(all).not.toMatch(/payroll|hidden|echo|ann|sha256/);
    expect(all).toContain('"name":"com.example/tools"');
    expect(all).toContain('"url":"https://mcp.example.com/mcp"');
    expect(all).toContain('"url":"https://mcp.example.com/mcp/server-card"');
    expect(all).toMatch(/"headers":\[\{"name":"Authorization".*"isSecret":true/);
    expect((await send(at(url, "/mcp/payroll"), { method: "GET" })).status).toBe(401);
  });

  test("is read by pages of any origin, cached, and not with the Host of another site", async () => {
    const url = await gateway(true);
    const headers = { host: new URL(url).host, origin: "https://elsewhere.example" };
    const card = await send(`${url}/server-card`, { method: "GET", headers });
    expect([card.status, card.headers["access-control-allow-origin"]]).toEqual([200, "*"]);
    const known = { ...headers, "if-none-match": String(card.headers.etag) };
    const again = await send(`${url}/server-card`, { method: "GET", headers: known });
    expect([again.status, again.text]).toEqual([304, ""]);
    expect((await send(`${url}/server-card`, { method: "OPTIONS", headers })).status).toBe(204);
    expect((await send(`${url}/server-card`, { method: "HEAD", headers })).status).toBe(200);
    expect((await send(`${url}/server-card`, { method: "POST", headers })).status).toBe(405);
    const rebound = { host: "evil.example" };
    expect((await send(`${url}/server-card`, { method: "GET", headers: rebound })).status).toBe(403);
  });

  test("is not there without it, and asks for credentials as any other path", async () => {
    const open = await gateway(false);
    expect((await send(`${open}/server-card`, { method: "GET" })).status).not.toBe(200);
    expect((await send(at(open, "/.well-known/mcp/catalog.json"), { method: "GET" })).status).toBe(404);
    const closed = await gateway(false, { auth: KEYS });
    expect((await send(at(closed, "/.well-known/ai-catalog.json"), { method: "GET" })).status).toBe(401);
  });
});

/** Another server's site: answers by path. */
async function site(pages: Readonly<Record<string, unknown>>): Promise<{ origin: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    const page = pages[request.url ?? ""];
    if (typeof page === "string") response.writeHead(302, { location: page }).end();
    else if (page === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": CARD_TYPE }).end(JSON.stringify(page));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}
const cardOf = (url: string, more: object = {}) => ({
  ...{ name: "com.example/weather", version: "1.0.0", title: "Weather", description: "What it will be" },
  remotes: [{ type: "streamable-http", url }],
  ...more,
});
const written = (place: ReturnType<typeof atHome>): unknown =>
  JSON.parse(place.read("work/cardea.json")) as unknown;

describe("cardea add URL", () => {
  test("adds a gateway by its own card, from the address, the card, the catalog or the site", async () => {
    const url = await gateway(true);
    for (const given of [url, `${url}/server-card`, at(url, "/.well-known/mcp/catalog.json"), at(url, "/")]) {
      const place = atHome();
      place.write("work/cardea.json", "{}");
      expect([given, (await place.run("add", given, "--yes")).code]).toEqual([given, 0]);
      expect(written(place)).toEqual({ mcpServers: { cardea: { type: "http", url } } });
    }
  });

  test("asks before it adds, shows the address, and takes a name of its own", async () => {
    const pages: Record<string, unknown> = {};
    const { origin } = await site(pages);
    pages["/mcp/server-card"] = cardOf(`${origin}/mcp`);
    const refused = atTerminal(["n"]);
    refused.write("work/cardea.json", "{}");
    expect((await refused.run("add", `${origin}/mcp`)).code).toBe(1);
    expect(written(refused)).toEqual({});
    const agreed = atTerminal(["y"]);
    agreed.write("work/cardea.json", "{}");
    expect((await agreed.run("add", "sky", `${origin}/mcp/server-card`)).code).toBe(0);
    expect(written(agreed)).toEqual({ mcpServers: { sky: { type: "http", url: `${origin}/mcp` } } });
    const silent = atHome();
    silent.write("work/cardea.json", "{}");
    const { code, said } = await silent.run("add", `${origin}/mcp`);
    expect([code, said.join()]).toEqual([2, expect.stringContaining(`at ${origin}/mcp; --yes adds it`)]);
  });

  test("with --yes adds no server at another host than the card's, and starts nothing that a card names", async () => {
    const pages: Record<string, unknown> = {};
    const { origin } = await site(pages);
    pages["/server-card"] = cardOf("https://elsewhere.example/mcp");
    const place = atHome();
    place.write("work/cardea.json", "{}");
    const { code, said } = await place.run("add", `${origin}/server-card`, "--yes");
    expect([code, said.join()]).toEqual([2, expect.stringContaining("which is not the host of the card")]);
    const npm = { registryType: "npm", identifier: "evil", version: "1.0.0", transport: { type: "stdio" } };
    pages["/server-card"] = { ...cardOf(""), remotes: [], packages: [npm] };
    expect((await place.run("add", `${origin}/server-card`, "--yes")).code).toBe(1);
    expect(written(place)).toEqual({});
  });

  test("follows neither a redirect nor a catalog to another host", async () => {
    const inner = await site({
      "/secret": cardOf("http://10.0.0.1/mcp"),
      "/server-card": cardOf("http://10.0.0.1/mcp"),
    });
    const outer = await site({
      "/mcp/server-card": `${inner.origin}/secret`,
      "/.well-known/ai-catalog.json": {
        specVersion: "1.0",
        entries: [{ identifier: "urn:air:x:mcp:y", type: CARD_TYPE, url: `${inner.origin}/server-card` }],
      },
    });
    const place = atHome();
    place.write("work/cardea.json", "{}");
    const { code, said } = await place.run("add", `${outer.origin}/mcp`, "--yes");
    expect([code, said.join()]).toEqual([
      2,
      expect.stringContaining(
        `names a card at another host; cardea add ${inner.origin}/server-card reads it`,
      ),
    ]);
    expect(inner.asked).toEqual([]);
  });

  test("takes the words of a card literally and shows them on one line", async () => {
    const pages: Record<string, unknown> = {};
    const { origin } = await site(pages);
    pages["/server-card"] = cardOf(`${origin}/mcp/\${env:HOME_TOKEN}`, {
      title: "fine\u001b[2J\n\u202eadded",
    });
    const place = atHome({ HOME_TOKEN: "home-0123456789abcdef" });
    place.write("work/cardea.json", "{}");
    const { said } = await place.run("add", `${origin}/server-card`);
    for (const hidden of ["\u001b", "\u202e", "home-0123"]) expect(said.join()).not.toContain(hidden);
    expect((await place.run("add", `${origin}/server-card`, "--yes", "--plain")).code).toBe(0);
    expect(place.read("work/cardea.json")).toContain("$${env:HOME_TOKEN}");
  });

  test("lists the cards of a catalog with several, and says where none was found", async () => {
    const entry = (url: string) => ({ identifier: "urn:air:x:mcp:y", type: CARD_TYPE, url });
    const { origin } = await site({
      "/.well-known/mcp/catalog.json": {
        specVersion: "1.0",
        entries: [entry("https://a.example/card"), entry("https://b.example/card")],
      },
    });
    const place = atHome();
    place.write("work/cardea.json", "{}");
    const { code, said } = await place.run("add", origin);
    expect([code, said.join()]).toEqual([
      2,
      expect.stringContaining("https://a.example/card, https://b.example/card"),
    ]);
    const none = await site({});
    const without = await place.run("add", `${none.origin}/mcp`);
    expect([without.code, without.said.join()]).toEqual([
      2,
      expect.stringMatching(/a name is missing, and .* has no server card: cardea add NAME/),
    ]);
  });
});
