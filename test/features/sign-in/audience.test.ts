/** Tokens are for the server's URL; for more than that only with the consent of a person or the config (RFC 9728, 3.3). */
import { describe, expect, test } from "vitest";
import { audienceOf } from "../../../src/features/sign-in/oauth/client.js";
import { tokenEndpointOf } from "../../../src/features/sign-in/server-token-endpoint.js";
import type { SignInServer } from "../../../src/features/sign-in/sign-in-server.js";
import { sample } from "../../support/sample.js";
import { type AdversarialServer, adversarialServer } from "../../support/sign-in/adversarial-server.js";
import { Browser } from "../../support/sign-in/browser.js";
import { stateFolder, vaultIn } from "../vault/credentials.js";
import { startDesk } from "./sign-in-desk.js";

const SERVER = "https://host.example/tenant-a/mcp";

test.each([
  ["https://host.example/tenant-a/mcp", "same"],
  ["https://host.example/tenant-a/mcp/", "same"],
  ["https://HOST.example:443/tenant-a/mcp", "same"],
  ["https://host.example/x/../tenant-a/mcp", "same"],
  ["https://host.example", "wider"],
  ["https://host.example/", "wider"],
  ["https://host.example/tenant-a", "wider"],
  ["https://host.example/tenant-a/", "wider"],
  ["https://host.example/tenant-a/mcp/..", "wider"],
  ["https://host.example/tenant-a/mcp/%2e%2e/%2E%2e", "wider"],
  ["https://host.example/tenant", "other"],
  ["https://host.example/tenant-a/mc", "other"],
  ["https://host.example/tenant-b/mcp", "other"],
  ["https://host.example/tenant-a/mcp/sub", "other"],
  ["https://host.example/TENANT-A/mcp", "other"],
  ["https://host.example/tenant-a/mcp?tenant=b", "other"],
  ["https://host.example/?tenant=b", "other"],
  ["https://host.example/tenant-a/mcp#x", "other"],
  ["https://user@host.example/tenant-a/mcp", "other"],
  ["https://:secret@host.example/tenant-a/mcp", "other"],
  ["https://host.example:8443/tenant-a/mcp", "other"],
  ["http://host.example/tenant-a/mcp", "other"],
  ["https://api.host.example/tenant-a/mcp", "other"],
  ["https://example/tenant-a/mcp", "other"],
  ["https://host.example.evil/tenant-a/mcp", "other"],
  ["//host.example/tenant-a/mcp", "other"],
  ["tenant-a", "other"],
])("a token for %s is, at a server below it, for %s", (resource, audience) => {
  expect(audienceOf(resource, SERVER)).toBe(audience);
});

test("a resource without the query of the server's URL is wider", () => {
  expect(audienceOf("https://host.example/mcp", "https://host.example/mcp?tenant=a")).toBe("wider");
  expect(audienceOf("https://host.example/mcp?tenant=a", "https://host.example/mcp?tenant=a")).toBe("same");
});

const atTenant = (): Promise<AdversarialServer> => adversarialServer({ mcpPath: "/tenant-a/mcp" });

describe.each(
  sample<readonly [string, (server: AdversarialServer) => string]>(
    "claimed resources",
    [
      ["its origin", ({ origin }: AdversarialServer) => origin],
      ["its origin with a slash", ({ origin }: AdversarialServer) => `${origin}/`],
      ["the folder above", ({ origin }: AdversarialServer) => `${origin}/tenant-a`],
      ["its origin by dot segments", ({ mcpUrl }: AdversarialServer) => `${mcpUrl}/../..`],
      ["its origin by encoded dots", ({ mcpUrl }: AdversarialServer) => `${mcpUrl}/%2e%2e/%2e%2e`],
    ],
    2,
  ),
)("a server that claims %s as its resource", (_, resourceOf) => {
  test("gets a token for that once the person has seen it and agreed, which is remembered", async () => {
    const server = await atTenant();
    server.resourceMetadata.resource = resourceOf(server);
    const desk = await startDesk({ mcpUrl: server.mcpUrl });
    const browser = new Browser();
    const page = await browser.open(await desk.signIns.connectUrl("notes", "anonymous"));
    expect(page.text).toContain("asks for more than itself");
    expect(page.text).toContain("Agree, and sign in");
    const started = await browser.press(page);
    const url = new URL(started.headers.get("location") ?? "");
    const normal =
      resourceOf(server).includes("..") || resourceOf(server).includes("%2e")
        ? server.origin
        : resourceOf(server);
    expect(url.searchParams.get("resource")).toBe(normal);
    await browser.open(await server.authorize(url.href));
    expect((await desk.signIns.logins()).map(({ resource }) => resource)).toEqual([normal]);
    const again = await browser.open(await desk.signIns.connectUrl("notes", "anonymous"));
    expect(again.text).not.toContain("asks for more than itself");
  });

  test("gets none by the command without its flag", async () => {
    const server = await atTenant();
    server.resourceMetadata.resource = resourceOf(server);
    const desk = await startDesk({ mcpUrl: server.mcpUrl });
    await expect(desk.signIns.begin("notes", "anonymous")).rejects.toThrow(/--accept-audience/);
    await expect(desk.signIns.begin("notes", "anonymous", { device: true })).rejects.toThrow(
      /--accept-audience/,
    );
    expect(server.steps()).not.toContain("device");
    const begun = await desk.signIns.begin("notes", "anonymous", { acceptsAudience: true });
    await desk.signIns.pasted(begun.login, await server.authorize(begun.url));
    await desk.signIns.begin("notes", "anonymous");
  });

  test("gets none without a person, unless the config names it", async () => {
    const server = await atTenant();
    const resource = resourceOf(server);
    server.resourceMetadata.resource = resource;
    const refused = await machineTokens(server);
    expect(refused).toMatchObject({ kind: "refused", error: "wider_audience" });
    expect(refused).toMatchObject({ description: expect.stringContaining('set "resource"') });
    expect(server.steps()).not.toContain("token");
    expect(await machineTokens(server, { resource })).toMatchObject({ kind: "tokens" });
  });
});

test("a server whose resource is its URL, or differs by a slash, is asked for nothing more", async () => {
  const server = await atTenant();
  for (const resource of [server.mcpUrl, `${server.mcpUrl}/`]) {
    server.resourceMetadata.resource = resource;
    const desk = await startDesk({ mcpUrl: server.mcpUrl });
    const page = await new Browser().open(await desk.signIns.connectUrl("notes", "anonymous"));
    expect(page.text).not.toContain("asks for more");
    expect((await desk.signIns.begin("notes", "anonymous")).resource).toBe(resource);
    expect(await machineTokens(server)).toMatchObject({ kind: "tokens" });
  }
});

test("another tenant's resource is refused whatever a person says", async () => {
  const server = await atTenant();
  server.resourceMetadata.resource = `${server.origin}/tenant-b/mcp`;
  const desk = await startDesk({ mcpUrl: server.mcpUrl });
  await expect(desk.signIns.begin("notes", "ann", { acceptsAudience: true })).rejects.toThrow(
    /RFC 9728, 3.3/,
  );
  expect(await machineTokens(server)).toMatchObject({ kind: "refused" });
});

/** What the gateway's own client of the config gets. */
async function machineTokens(server: AdversarialServer, auth: Partial<SignInServer["auth"]> = {}) {
  const vault = await vaultIn(stateFolder());
  const notes: SignInServer = {
    name: "notes",
    url: server.mcpUrl,
    headers: {},
    auth: {
      ...{ type: "client_credentials", as: "service", hasPrincipals: true, quirks: {}, allowHosts: [] },
      ...{ clientId: "cardea", clientSecret: "the-secret" },
      ...auth,
    },
  };
  const { obtain } = tokenEndpointOf({ server: notes, baseUrl: "http://127.0.0.1:1" }, vault);
  const request = { principal: "service", before: undefined, scopes: [] };
  return obtain?.(request, AbortSignal.timeout(60_000));
}
