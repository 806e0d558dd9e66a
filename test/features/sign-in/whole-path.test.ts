/** A server behind a real login, from the first call of a host that is not signed in to the tool's result. */
import "../admin/needed.js";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import {
  Client,
  StreamableHTTPClientTransport,
  type Transport as Transport2,
} from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpTransport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioServerTransport as PipeTransport1 } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { Transport as Transport1 } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { StdioServerTransport as PipeTransport2 } from "@modelcontextprotocol/server/stdio";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { createGateway } from "../../../src/gateway/gateway.js";
import { openedFeatures } from "../../support/features.js";
import { configOf, listening } from "../../support/gateway.js";
import { sample } from "../../support/sample.js";
import { Browser } from "../../support/sign-in/browser.js";
import { type RealIssuer, startRealIssuer } from "../../support/sign-in/real-issuer.mjs";

let issuer: RealIssuer;
beforeAll(async () => {
  issuer = await startRealIssuer();
});
afterAll(() => issuer.close());

/** A gateway in front of the server `notes`, with a vault of its own. */
async function gatewayWith(config: object = {}, more: object = {}): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "cardea-whole-"));
  const mcpServers = { notes: { url: issuer.mcpUrl, ...config } };
  const whole = configOf({ mcpServers, ...more });
  const features = await openedFeatures(whole, { stateFolder: folder });
  const gateway = createGateway(whole, { logger: SILENT, version: "0.0.0-test", features });
  const { url, adminUrl } = await listening(gateway);
  onTestFinished(async () => {
    await gateway.stop({ immediate: true });
    rmSync(folder, { recursive: true, force: true });
  });
  const pipe = (): Pipe => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    onTestFinished(() => void input.end());
    void gateway.stdio(input, output);
    return { input, output };
  };
  return { url: new URL(url), adminUrl, pipe };
}

interface Pipe {
  readonly input: PassThrough;
  readonly output: PassThrough;
}
interface Place {
  readonly url: URL;
  readonly adminUrl: string;
  /** The gateway's stdin and stdout, for one host. */
  pipe(): Pipe;
}

/** What a host can do, and who it is. */
interface HostOptions {
  /** Called with the address of a page that the host is asked to show. */
  readonly open?: (url: string) => Promise<void>;
  readonly key?: string;
}

const headersOf = (key: string | undefined) =>
  key === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${key}` } } };
const capabilitiesOf = (open: HostOptions["open"]) =>
  open === undefined ? {} : { elicitation: { url: {} } };

/** A host of SDK 2.4; `mode`: it speaks 2025-11-25 only, or what the gateway offers. */
async function host2(transport: Transport2, mode: "legacy" | "auto", { open }: HostOptions): Promise<Host> {
  const client = new Client(
    { name: "host", version: "1" },
    { capabilities: capabilitiesOf(open), versionNegotiation: { mode } },
  );
  if (open !== undefined) {
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      await open((params as { url: string }).url);
      return { action: "accept" };
    });
  }
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name).sort(),
    call: async (name) => (await client.callTool({ name, arguments: {} })) as Result,
  };
}

/** A host of SDK 1.32. */
async function host1(transport: Transport1, { open }: HostOptions): Promise<Host> {
  const client = new Client1({ name: "host", version: "1" }, { capabilities: capabilitiesOf(open) });
  if (open !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      await open((params as { url: string }).url);
      return { action: "accept" };
    });
  }
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name).sort(),
    call: async (name) => (await client.callTool({ name, arguments: {} })) as Result,
  };
}

type Connect = (at: Place, options?: HostOptions) => Promise<Host>;

const overHttp = ({ url }: Place, { key }: HostOptions) =>
  new StreamableHTTPClientTransport(url, headersOf(key));
/** Both ends of a pipe speak the same: this one is the host's. */
const overPipe = (at: Place) => {
  const { input, output } = at.pipe();
  return [output, input] as const;
};

const HTTP_HOSTS: Readonly<Record<string, Connect>> = {
  "SDK 2.4, modern": (at, options = {}) => host2(overHttp(at, options), "auto", options),
  "SDK 2.4, legacy": (at, options = {}) => host2(overHttp(at, options), "legacy", options),
  "SDK 1.32": (at, options = {}) =>
    host1(new HttpTransport1(at.url, headersOf(options.key)) as Transport1, options),
};
const HOSTS: Readonly<Record<string, Connect>> = {
  ...HTTP_HOSTS,
  "SDK 2.4, modern, over stdio": (at, options = {}) =>
    host2(new PipeTransport2(...overPipe(at)), "auto", options),
  "SDK 1.32 over stdio": (at, options = {}) => host1(new PipeTransport1(...overPipe(at)), options),
};
const ERAS = ["legacy", "modern"] as const;
const rows = Object.entries(HOSTS).flatMap(([name, connect]) => ERAS.map((era) => ({ name, connect, era })));
const httpRows = rows.filter(({ name }) => name in HTTP_HOSTS);

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
const pageOf = (refused: Result): string => refused._meta?.["cardea/sign-in"]?.url ?? "";
const textOf = ({ content }: Result): string | undefined => content[0]?.text;

describe.each(sample("whole paths", rows, 2))("a host ($name) and a $era server", ({ connect, era }) => {
  test("without URL elicitation gets the sign-in URL; the same call works after the sign-in, and after the token expired", async () => {
    const at = await gatewayWith({ protocol: era });
    const host = await connect(at);
    expect(await host.tools()).toEqual([]);
    const refused = await host.call("notes__whoami");
    expect(refused).toMatchObject({ isError: true, _meta: { "cardea/sign-in": { server: "notes" } } });
    const page = await new Browser().signIn(pageOf(refused), "ann");
    expect(page.text).toContain("Signed in to notes");
    expect(textOf(await host.call("notes__whoami"))).toContain("ann");
    expect(await host.tools()).toEqual(TOOLS);
    issuer.expireAccessTokens();
    expect(textOf(await host.call("notes__whoami"))).toContain("ann");
  });

  test("with URL elicitation is asked in the middle of a call that lacks a scope; the tool runs once", async () => {
    const shown: string[] = [];
    const at = await gatewayWith({ protocol: era, auth: { scopes: ["read"] } });
    const open = async (page: string): Promise<void> => {
      shown.push(page);
      await new Browser().signIn(page, "eve");
    };
    const host = await connect(at, { open });
    const refused = await (await connect(at)).call("notes__whoami");
    await new Browser().signIn(pageOf(refused), "eve");
    await expect.poll(() => host.tools()).toEqual(TOOLS);
    const before = issuer.calls.length;
    const result = await host.call("notes__admin_only");
    expect(result.isError ?? false).toBe(false);
    expect(shown).toHaveLength(1);
    expect(issuer.calls.slice(before).map(({ tool }) => tool)).toEqual(["admin_only"]);
  });
});

describe.each(sample("teams", httpRows, 1))(
  "a team whose hosts are $name, and a $era server",
  ({ connect, era }) => {
    test("signs in per person, with its own key; the calls of each use that person's token", async () => {
      const keys = ["ann", "bob"].map((id) => ({
        id,
        hash: `sha256:${createHash("sha256").update(keyOf(id)).digest("hex")}`,
      }));
      const at = await gatewayWith({ protocol: era }, { auth: { keys } });
      for (const person of ["ann", "bob"]) {
        const host = await connect(at, { key: keyOf(person) });
        const refused = await host.call("notes__whoami");
        // The key of another principal is refused.
        const other = await new Browser().signIn(pageOf(refused), person, {
          key: keyOf(person === "ann" ? "bob" : "ann"),
        });
        expect(other.status).toBe(403);
        await new Browser().signIn(pageOf(refused), person, { key: keyOf(person) });
        expect(textOf(await host.call("notes__whoami"))).toContain(`${person} with`);
      }
      const ann = await connect(at, { key: keyOf("ann") });
      expect(textOf(await ann.call("notes__whoami"))).toContain("ann with");
    });
  },
);

const keyOf = (person: string): string => `key-of-${person}-and-of-no-other`;

test("a server with client credentials obtains its own token, and `logins` lists it", async () => {
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
  const at = await gatewayWith({
    url: own.mcpUrl,
    auth: {
      type: "client_credentials",
      as: "service",
      clientId: "robot",
      clientSecret: "a-secret-of-the-robot-0123456789",
      scopes: ["read"],
    },
  });
  const host = await (HOSTS["SDK 2.4, modern"] as Connect)(at);
  await expect.poll(() => host.tools()).toEqual(TOOLS);
  expect((await host.call("notes__whoami")).isError ?? false).toBe(false);
  const logins: unknown = await (await fetch(`${at.adminUrl}/api/v1/logins`)).json();
  expect(JSON.stringify(logins)).toContain('"grant":"client_credentials"');
});
