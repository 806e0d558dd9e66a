/** Real hosts that know only the URL of the gateway: SDK 1.32, and SDK 2.4 in both eras, before a real issuer. */
import { createHash } from "node:crypto";
import { beforeEach, describe, expect, onTestFinished } from "vitest";
import { inRepository, noneStarts } from "../../support/cardea.js";
import { testOf } from "../../support/features.js";
import { gatewayOf } from "../../support/gateway.js";
import { sample } from "../../support/sample.js";
import type { RealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { freePort } from "../../support/told-port.js";
import { until } from "../../support/until.js";
import { host1, host2, signedIn } from "./sdk-hosts.js";
import { realCompany, signInOf } from "./support.js";

/** The gateway of these tests has rules. */
const test = testOf("policy");

/** The key of the robots, beside the sign-in of persons. */
const KEY = "the-key-of-a-robot";
const server = inRepository("node_modules/@modelcontextprotocol/server-memory/dist/index.js");

let port: number;
let url: URL;
let company: RealIssuer;

beforeEach(async () => {
  port = await freePort();
  url = new URL(`http://127.0.0.1:${port}/mcp`);
  company = await realCompany(`http://127.0.0.1:${port}/oauth/authorize/callback`);
  const digest = createHash("sha256").update(KEY).digest("hex");
  const gateway = await gatewayOf({
    listen: { http: { port }, admin: { port: 0 } },
    auth: {
      keys: [{ id: "robot", hash: `sha256:${digest}` }],
      signIn: { issuer: company.issuer, clientId: "cardea", clientSecret: signInOf("").clientSecret },
    },
    mcpServers: { memory: { command: process.execPath, args: [server] } },
    policy: { default: "deny", rules: [{ principals: ["alice", "robot"], effect: "allow" }] },
  });
  await gateway.start();
  onTestFinished(() => gateway.stop({ immediate: true }));
  await until("the server", () => noneStarts(url.href));
});

const SDKS: readonly [string, typeof host1][] = [
  ["SDK 1.32", host1],
  ["SDK 2.4 of the legacy era", host2("legacy")],
  ["SDK 2.4 of the modern era", host2("auto")],
];

describe.each(sample("SDKs", SDKS, 1))("%s", (_, make) => {
  test("signs its person in with only a URL; rules see the person", async () => {
    const { host } = await signedIn(make, url, "alice");
    expect(await host.names()).toContain("memory__read_graph");
    expect(await host.call("memory__read_graph")).toContain("entities");
    const bob = await signedIn(make, url, "bob");
    const refused = await bob.host.call("memory__read_graph");
    expect(refused).not.toContain("entities");
    expect(refused).toMatch(/not allowed|denied|forbidden/i);
  }, 60_000);

  test("refreshes its token when the access token has expired", async () => {
    const { state } = await signedIn(make, url, "alice");
    const { refresh_token } = state.tokens() as unknown as { refresh_token: string };
    state.saveTokens({ access_token: "expired", token_type: "Bearer", refresh_token });
    state.opened = undefined;
    const host = make(url, state);
    await host.connect();
    expect(await host.names()).toContain("memory__read_graph");
    expect(state.opened).toBeUndefined();
    expect(state.tokens()).not.toMatchObject({ refresh_token });
  }, 60_000);
});

describe.each(sample("SDKs at endpoints", SDKS, 2))("%s at the URL of one endpoint", (name, make) => {
  test.each(sample(`endpoints of ${name}`, ["/memory", "/memory/", "/"], 1))(
    "signs in with that URL as its resource, at %s, and its token is good there only",
    async (place) => {
      const { state, host } = await signedIn(make, new URL(`${url}${place}`), "alice");
      const asked = state.opened?.searchParams.get("resource");
      expect(asked).toBe(`${url}${place}`);
      expect(await host.names()).not.toEqual([]);
      expect(
        await host.call((await host.names()).find((name) => name.endsWith("read_graph")) ?? ""),
      ).toContain("entities");
      const { access_token } = state.tokens() as unknown as { access_token: string };
      const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/json" };
      const statusAt = async (at: string) =>
        (await fetch(`${url}${at}`, { method: "POST", headers, body: "{}" })).status;
      expect(await statusAt("")).toBe(place === "/" ? 400 : 401);
      expect(await statusAt("/other")).toBe(place === "/" ? 404 : 401);
      expect(await statusAt("/memory")).toBe(400);
    },
    60_000,
  );
});

test("the 401 leads to the resource metadata, these to the gateway as issuer, and these to the same issuer", async () => {
  const refused = await fetch(url, { method: "POST" });
  const [, metadataUrl = ""] =
    /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "") ?? [];
  const resource = (await (await fetch(metadataUrl)).json()) as Record<string, unknown>;
  expect(resource).toMatchObject({ resource: url.href, authorization_servers: [url.origin] });
  const metadata = await (await fetch(`${url.origin}/.well-known/oauth-authorization-server`)).json();
  expect(metadata).toMatchObject({ issuer: url.origin });
});

test("API keys work as well, and tokens of the company's issuer do not", async () => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const ask = (authorization: string) =>
    fetch(url, {
      method: "POST",
      headers: {
        authorization,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body,
    });
  expect((await ask(`Bearer ${KEY}`)).status).not.toBe(401);
  const { state } = await signedIn(host2("auto"), url, "alice");
  const { access_token } = state.tokens() as unknown as { access_token: string };
  expect((await ask(`Bearer ${access_token}`)).status).not.toBe(401);
  const [head = "", claims = "", signature = ""] = access_token.split(".");
  const other = { ...JSON.parse(Buffer.from(claims, "base64url").toString()), sub: "robot" };
  const forged = `${head}.${Buffer.from(JSON.stringify(other)).toString("base64url")}.${signature}`;
  expect((await ask(`Bearer ${forged}`)).status).toBe(401);
}, 60_000);

test("pages of a foreign origin reach neither the consent page's form nor the token endpoint", async () => {
  const headers = { origin: "https://evil.example" };
  for (const path of ["authorize", "token", "register", "revoke"]) {
    const response = await fetch(`${url.origin}/oauth/${path}`, { method: "POST", headers });
    expect([path, response.status]).toEqual([path, 403]);
  }
});
