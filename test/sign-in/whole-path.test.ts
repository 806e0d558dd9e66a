/** A server behind a real login, from the first call of a host that is not signed in to the tool's result. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { createGateway } from "../../src/gateway/gateway.js";
import { configOf } from "../support/gateway.js";
import { Browser } from "../support/sign-in/browser.js";
import { type RealIssuer, startRealIssuer } from "../support/sign-in/real-issuer.mjs";

let issuer: RealIssuer;
beforeAll(async () => {
  issuer = await startRealIssuer();
});
afterAll(() => issuer.close());

/** A gateway in front of the server `notes`, with a vault of its own. */
async function gatewayWith(config: object = {}): Promise<{ readonly url: URL; readonly adminUrl: string }> {
  const folder = mkdtempSync(join(tmpdir(), "cardea-whole-"));
  const gateway = createGateway(configOf({ mcpServers: { notes: { url: issuer.mcpUrl, ...config } } }), {
    logger: SILENT,
    version: "0.0.0-test",
    credentialsFolder: join(folder, "credentials"),
  });
  const { url, adminUrl } = await gateway.start();
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    rmSync(folder, { recursive: true, force: true });
  });
  return { url: new URL(url), adminUrl };
}

/** A host of each SDK; `open` is called with the address of a page that it is asked to show. */
const HOSTS: Readonly<Record<string, (url: URL, open?: (url: string) => Promise<void>) => Promise<Host>>> = {
  "SDK 2.4": async (url, open) => {
    const client = new Client(
      { name: "host", version: "1" },
      { capabilities: open === undefined ? {} : { elicitation: { url: {} } } },
    );
    if (open !== undefined) {
      client.setRequestHandler("elicitation/create", async ({ params }) => {
        await open((params as { url: string }).url);
        return { action: "accept" };
      });
    }
    await client.connect(new StreamableHTTPClientTransport(url));
    onTestFinished(() => client.close());
    return {
      tools: async () => (await client.listTools()).tools.map(({ name }) => name).sort(),
      call: async (name) => (await client.callTool({ name, arguments: {} })) as Result,
    };
  },
  "SDK 1.32": async (url, open) => {
    const client = new Client1(
      { name: "host", version: "1" },
      { capabilities: open === undefined ? {} : { elicitation: { url: {} } } },
    );
    if (open !== undefined) {
      client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
        await open((params as { url: string }).url);
        return { action: "accept" };
      });
    }
    await client.connect(new Transport1(url));
    onTestFinished(() => client.close());
    return {
      tools: async () => (await client.listTools()).tools.map(({ name }) => name).sort(),
      call: async (name) => (await client.callTool({ name, arguments: {} })) as Result,
    };
  },
};

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly text?: string }[];
  readonly _meta?: { readonly "cardea/sign-in"?: { readonly server: string; readonly url: string } };
}
interface Host {
  tools(): Promise<readonly string[]>;
  call(name: string): Promise<Result>;
}

const TOOLS = ["notes__admin_only", "notes__whoami"];

describe.each(Object.entries(HOSTS))("a host with %s", (_name, connect) => {
  test("that can show no page gets its address, and the same call works after the sign-in", async () => {
    const { url } = await gatewayWith();
    const host = await connect(url);
    expect(await host.tools()).toEqual([]);
    const refused = await host.call("notes__whoami");
    expect(refused).toMatchObject({ isError: true, _meta: { "cardea/sign-in": { server: "notes" } } });
    const page = await new Browser().signIn(refused._meta?.["cardea/sign-in"]?.url ?? "", "ann");
    expect(page.text).toContain("Signed in to notes");
    await expect.poll(() => host.tools()).toEqual(TOOLS);
    expect((await host.call("notes__whoami")).content[0]?.text).toContain("ann");
  });

  test("goes on with an expired token, which is refreshed without a person", async () => {
    const { url } = await gatewayWith();
    const host = await connect(url);
    const refused = await host.call("notes__whoami");
    await new Browser().signIn(refused._meta?.["cardea/sign-in"]?.url ?? "", "ann");
    await expect.poll(() => host.tools()).toEqual(TOOLS);
    issuer.expireAccessTokens();
    expect((await host.call("notes__whoami")).content[0]?.text).toContain("ann");
  });

  test("that shows the page is led there in the middle of a call that lacks a scope; the tool runs once", async () => {
    const shown: string[] = [];
    const { url } = await gatewayWith({ auth: { scopes: ["read"] } });
    const host = await connect(url, async (page) => {
      shown.push(page);
      await new Browser().signIn(page, "eve");
    });
    const plain = await connect(url);
    const refused = await plain.call("notes__whoami");
    await new Browser().signIn(refused._meta?.["cardea/sign-in"]?.url ?? "", "eve");
    await expect.poll(() => host.tools()).toEqual(TOOLS);
    const before = issuer.calls.length;
    const result = await host.call("notes__admin_only");
    expect(result.isError ?? false).toBe(false);
    expect(shown).toHaveLength(1);
    expect(issuer.calls.slice(before).map(({ tool }) => tool)).toEqual(["admin_only"]);
  });
});

test("one that needs no person obtains its own token, and `logins` names it", async () => {
  const own = await startRealIssuer({
    clients: [
      {
        client_id: "robot",
        client_secret: "a-secret-of-the-robot-0123456789",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
      },
    ],
  });
  onTestFinished(() => own.close());
  const { url, adminUrl } = await gatewayWith({
    url: own.mcpUrl,
    auth: {
      type: "client_credentials",
      as: "service",
      clientId: "robot",
      clientSecret: "a-secret-of-the-robot-0123456789",
      scopes: ["read"],
    },
  });
  const host = await (HOSTS["SDK 2.4"] as (url: URL) => Promise<Host>)(url);
  await expect.poll(() => host.tools()).toEqual(TOOLS);
  expect((await host.call("notes__whoami")).isError ?? false).toBe(false);
  const logins: unknown = await (await fetch(`${adminUrl}/api/v1/logins`)).json();
  expect(JSON.stringify(logins)).toContain('"grant":"client_credentials"');
});
