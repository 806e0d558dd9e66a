/** One sign-in at the company's issuer, and tokens for the servers that trust it: by ID-JAG and by token exchange. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { createGateway } from "../../../src/gateway/gateway.js";
import { openedFeatures } from "../../support/features.js";
import { configOf } from "../../support/gateway.js";
import { Browser } from "../../support/sign-in/browser.js";
import { authorizeAs } from "../../support/sign-in/person.mjs";
import { type RealIssuer, startRealIssuer } from "../../support/sign-in/real-issuer.mjs";
import { vaultIn } from "../vault/credentials.js";

const SECRET = "a-secret-of-the-gateway-0123456789";
const urn = (name: string): string => `urn:ietf:params:oauth:grant-type:${name}`;

/** Where browsers come back to. */
const PORT = 18_743;
const CALLBACK = `http://127.0.0.1:${PORT}/oauth/callback`;

/** The company's issuer, with the gateway as its client. */
async function company(): Promise<RealIssuer> {
  const grants = ["authorization_code", "refresh_token", urn("token-exchange")];
  const issuer = await startRealIssuer({
    clients: [
      {
        client_id: "gateway",
        client_secret: SECRET,
        redirect_uris: [CALLBACK],
        grant_types: grants,
      },
    ],
  });
  onTestFinished(() => issuer.close());
  return issuer;
}

/** A server with an authorization server of its own, which takes the ID-JAGs of `trusted`. */
async function serverTrusting(trusted: RealIssuer): Promise<RealIssuer> {
  const issuer = await startRealIssuer({
    trustedIssuers: [trusted.issuer],
    clients: [
      {
        client_id: "gateway-there",
        client_secret: SECRET,
        grant_types: [urn("jwt-bearer")],
        redirect_uris: [],
        response_types: [],
      },
    ],
  });
  onTestFinished(() => issuer.close());
  return issuer;
}

async function gatewayWith(
  mcpServers: object,
  folder: string = mkdtempSync(join(tmpdir(), "cardea-company-")),
): Promise<URL> {
  const config = configOf({
    listen: { http: { port: 0, publicUrl: `http://127.0.0.1:${PORT}` }, admin: { port: 0 } },
    mcpServers,
  });
  const features = await openedFeatures(config, { stateFolder: folder });
  const gateway = createGateway(config, { logger: SILENT, version: "0.0.0-test", features });
  const { url } = await gateway.start();
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    rmSync(folder, { recursive: true, force: true });
  });
  return new URL(url);
}

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly text?: string }[];
  readonly _meta?: { readonly "cardea/sign-in"?: { readonly server: string; readonly url: string } };
}

async function hostAt(url: URL) {
  const client = new Client({ name: "host", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(url));
  onTestFinished(() => client.close());
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name).sort(),
    call: async (name: string) => (await client.callTool({ name, arguments: {} })) as Result,
  };
}

/** The page of the refusal, at the gateway's own port: nothing listens at its public URL in these tests. */
function pageOf(refused: Result, gateway: URL): string {
  const { pathname } = new URL(refused._meta?.["cardea/sign-in"]?.url ?? "");
  return new URL(pathname, gateway).href;
}

/** Goes from the connect page to the company and back. */
async function signIn(page: string, person: string, gateway: URL): Promise<string> {
  const browser = new Browser();
  const started = await browser.press(await browser.open(page));
  const back = new URL(await authorizeAs(started.headers.get("location") ?? "", person));
  return (await browser.open(new URL(back.pathname + back.search, gateway).href)).text;
}

const idp = ({ issuer }: RealIssuer, more: object = {}) => ({
  ...{ issuer, clientId: "gateway", clientSecret: SECRET },
  ...more,
});

test("one sign-in at the company's issuer serves each server that accepts its ID-JAGs, and is renewed without a person", async () => {
  const work = await company();
  const [notes, wiki] = [await serverTrusting(work), await serverTrusting(work)];
  const auth = { type: "enterprise", clientId: "gateway-there", clientSecret: SECRET, idp: idp(work) };
  const url = await gatewayWith({ notes: { url: notes.mcpUrl, auth }, wiki: { url: wiki.mcpUrl, auth } });
  const host = await hostAt(url);
  const refused = await host.call("notes__whoami");
  expect(refused).toMatchObject({ isError: true, _meta: { "cardea/sign-in": { server: "notes" } } });
  const page = pageOf(refused, url);
  expect((await new Browser().open(page)).text).toContain(work.issuer);
  expect(await signIn(page, "ann", url)).toContain("Signed in");
  await expect
    .poll(() => host.tools())
    .toEqual(["notes__admin_only", "notes__whoami", "wiki__admin_only", "wiki__whoami"]);
  expect((await host.call("notes__whoami")).content[0]?.text).toContain("ann");
  expect((await host.call("wiki__whoami")).content[0]?.text).toContain("ann");
  notes.expireAccessTokens();
  expect((await host.call("notes__whoami")).content[0]?.text).toContain("ann");
  expect(work.events.filter(({ grant }) => grant === "authorization_code")).toHaveLength(1);
});

test("a server of the same issuer receives an exchanged token, never the login's", async () => {
  const work = await company();
  const auth = { type: "token_exchange", idp: idp(work, { subjectToken: "access_token" }), scopes: ["read"] };
  const url = await gatewayWith({ notes: { url: work.mcpUrl, auth } });
  const host = await hostAt(url);
  const refused = await host.call("notes__whoami");
  await signIn(pageOf(refused, url), "ann", url);
  await expect.poll(() => host.tools()).toEqual(["notes__admin_only", "notes__whoami"]);
  expect((await host.call("notes__whoami")).content[0]?.text).toContain("ann");
  expect(
    work.events.some(({ grant, outcome }) => grant === urn("token-exchange") && outcome === "success"),
  ).toBe(true);
});

test("an authorization server that does not trust the issuer is named in the refusal", async () => {
  const work = await company();
  const stranger = await serverTrusting(await company());
  const auth = { type: "enterprise", clientId: "gateway-there", clientSecret: SECRET, idp: idp(work) };
  const url = await gatewayWith({ notes: { url: stranger.mcpUrl, auth } });
  const host = await hostAt(url);
  await signIn(pageOf(await host.call("notes__whoami"), url), "ann", url);
  const told = (): Promise<string> =>
    host.call("notes__whoami").then(({ content }) => content[0]?.text ?? "", String);
  await expect.poll(told).toContain("does not accept the login of");
});

test("an authorization server other than the pinned one gets no assertion", async () => {
  const work = await company();
  const other = await serverTrusting(work);
  const folder = mkdtempSync(join(tmpdir(), "cardea-company-"));
  const vault = await vaultIn(folder);
  const { origin } = new URL(other.mcpUrl);
  const issuer = "https://login.example.com";
  const endpoints = { token_endpoint: issuer };
  await vault.writePin({
    ...{ server: "notes", origin, issuer, requested: issuer, endpoints },
    ...{ by: "first_use", pinnedAt: 1 },
  });
  const auth = { type: "enterprise", clientId: "gateway-there", clientSecret: SECRET, idp: idp(work) };
  const url = await gatewayWith({ notes: { url: other.mcpUrl, auth } }, folder);
  const host = await hostAt(url);
  const told = (): Promise<string> =>
    host.call("notes__whoami").then(({ content }) => content[0]?.text ?? "", String);
  await expect.poll(told).toContain("cardea login notes --accept-issuer");
  expect(other.events).toEqual([]);
});
