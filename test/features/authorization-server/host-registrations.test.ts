/** Registrations as the hosts of `cardea install`, and others that people have, send them. */
import { describe, expect, test } from "vitest";
import { MemoryStore } from "../../../src/features/authorization-server/memory-store.js";
import {
  answerIn,
  authorizeUrl,
  Browser,
  hostId,
  pkce,
  REDIRECT,
  realCompany,
  registerHost,
  startWorld,
  tokenRequest,
} from "./support.js";

const CURSOR = "cursor://anysphere.cursor-mcp/oauth/callback";
const CLINE = "vscode://saoudrizwan.claude-dev/mcp-auth/callback/8d1c";
const CODE = { response_types: ["code"], token_endpoint_auth_method: "none" };
const FLOW = { grant_types: ["authorization_code", "refresh_token"], ...CODE };

interface HostRegistration {
  readonly body: { readonly redirect_uris: readonly string[]; readonly [name: string]: unknown };
  /** Those that are registered. Default: all. */
  readonly kept?: readonly string[];
  /** What the host asks with afterwards. Default: the first that is registered. */
  readonly asks?: string;
}

/** Bodies as these hosts sent them in 2025 and 2026, from their public sources and bug reports. */
const HOSTS: Readonly<Record<string, HostRegistration>> = {
  "Claude Code": {
    body: {
      client_name: "Claude Code (cardea)",
      redirect_uris: ["http://localhost:3118/callback"],
      ...{ ...FLOW, application_type: "native" },
    },
    asks: "http://localhost:55611/callback",
  },
  "Claude and Claude Desktop": {
    body: {
      client_name: "Claude",
      redirect_uris: ["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"],
      ...FLOW,
    },
  },
  "mcp-remote, of Claude Desktop": {
    body: {
      client_name: "MCP CLI Proxy",
      client_uri: "https://github.com/modelcontextprotocol/mcp-cli",
      redirect_uris: ["http://localhost:35535/oauth/callback"],
      ...{ ...FLOW, software_id: "2e6dc280-f3c3-4e01-99a7-8181dbd1d23d", software_version: "0.15.1" },
    },
  },
  "VS Code": {
    body: {
      client_name: "Visual Studio Code",
      client_uri: "https://code.visualstudio.com",
      redirect_uris: [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/",
      ],
      ...{ ...FLOW, grant_types: [...FLOW.grant_types, "urn:ietf:params:oauth:grant-type:device_code"] },
      application_type: "native",
    },
    asks: "http://127.0.0.1:59656/",
  },
  Cursor: {
    body: {
      client_name: "Cursor",
      redirect_uris: [
        CURSOR,
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback",
      ],
      ...FLOW,
    },
    kept: ["https://www.cursor.com/agents/mcp/oauth/callback", "http://localhost:8787/callback"],
    asks: "http://localhost:8787/callback",
  },
  Windsurf: {
    body: { client_name: "Windsurf", redirect_uris: ["http://localhost:41237/callback"], ...FLOW },
  },
  Zed: {
    body: {
      client_name: "Zed",
      client_uri: "https://zed.dev",
      redirect_uris: ["http://127.0.0.1/callback"],
      ...FLOW,
    },
    asks: "http://127.0.0.1:40123/callback",
  },
  "Gemini CLI": {
    body: {
      client_name: "Gemini CLI MCP Client",
      redirect_uris: ["http://localhost:7777/oauth/callback"],
      ...{ ...FLOW, code_challenge_method: ["S256"], scope: "" },
    },
  },
  Codex: {
    body: {
      client_name: "Codex",
      redirect_uris: ["http://127.0.0.1:37819/callback/6MFBM1In3Ey-"],
      ...{ ...FLOW, application_type: "native" },
    },
    asks: "http://127.0.0.1:63546/callback/6MFBM1In3Ey-",
  },
  opencode: {
    body: {
      client_name: "OpenCode",
      client_uri: "https://opencode.ai",
      redirect_uris: ["http://127.0.0.1:19876/mcp/oauth/callback"],
      ...FLOW,
    },
  },
  Cline: {
    body: {
      client_name: "Cline",
      client_uri: "https://cline.bot",
      redirect_uris: [CLINE, "http://127.0.0.1:1456/mcp/oauth/callback"],
      ...{ ...FLOW, software_id: "cline" },
    },
    kept: ["http://127.0.0.1:1456/mcp/oauth/callback"],
  },
  Goose: {
    body: {
      client_name: "goose",
      redirect_uris: ["http://localhost:52011/oauth_callback"],
      ...{ ...FLOW, scope: null },
    },
  },
  "MCP Inspector": {
    body: {
      client_name: "MCP Inspector",
      client_uri: "https://github.com/modelcontextprotocol/inspector",
      redirect_uris: ["http://localhost:6274/oauth/callback", "http://localhost:6274/oauth/callback/debug"],
      ...{ ...FLOW, scope: "" },
    },
  },
  "the TypeScript SDK": { body: { client_name: "SDK host", redirect_uris: [REDIRECT] } },
  "the Python SDK": {
    body: {
      client_name: "Simple Auth Client",
      redirect_uris: ["http://localhost:3030/callback"],
      ...{ ...FLOW, token_endpoint_auth_method: "client_secret_post" },
      ...{ client_uri: null, logo_uri: null, scope: null, contacts: null, tos_uri: null, jwks: null },
    },
  },
};

describe.each(Object.entries(HOSTS))("%s", (_, { body, kept = body.redirect_uris, asks = kept[0] }) => {
  test("registers, learns its redirect URIs, and gets the consent page", async () => {
    const one = await startWorld();
    const { status, body: registered } = await registerHost(one, body);
    expect({ status, uris: registered.redirect_uris }).toEqual({ status: 201, uris: kept });
    const url = authorizeUrl(one, { client_id: String(registered.client_id), redirect_uri: asks });
    const page = await new Browser().open(url);
    expect(page.status).toBe(200);
    expect(page.text).toContain(String(body.client_name));
  });
});

describe("redirect URIs that cannot be used", () => {
  test.each([
    ["a private scheme", CURSOR, "cursor, which auth.signIn.redirectSchemes does not name"],
    ["another program's scheme", "com.example.app:/cb", "com.example.app, which auth.signIn"],
    ["plain http", "http://host.example/cb", "must be an https URL"],
    ["a URI that parsers read differently", "https:evil.example/cb", "as browsers write it"],
    ["script", "javascript:alert(1)", "must be an https URL"],
    ["a fragment", "https://host.example/cb#x", "has a fragment"],
  ])("are left out beside others, and logged with the reason: %s", async (_, uri, reason) => {
    const one = await startWorld();
    const { status, body } = await registerHost(one, { redirect_uris: [uri, REDIRECT] });
    expect({ status, uris: body.redirect_uris }).toEqual({ status: 201, uris: [REDIRECT] });
    const [line = ""] = one.lines.filter((each) => each.includes("left out"));
    expect(line).toContain(reason);
    expect(line).toContain("Test host");
    const asked = authorizeUrl(one, { client_id: String(body.client_id), redirect_uri: uri });
    const page = await new Browser().open(asked);
    expect(page).toMatchObject({ status: 400, location: undefined });
    expect(page.text).toContain(reason);
  });

  test("are logged shortly, and 20 times a minute at most", async () => {
    const one = await startWorld();
    const long = Array.from({ length: 15 }, (_, i) => `x${i}${"y".repeat(900)}://cb`);
    for (let i = 0; i < 30; i++) await registerHost(one, { redirect_uris: [REDIRECT, ...long] });
    const lines = one.lines.filter((each) => each.includes("left out"));
    expect(lines).toHaveLength(20);
    for (const line of lines) expect(line.length).toBeLessThan(1_200);
    one.clock.pass(60_000);
    await registerHost(one, { redirect_uris: [REDIRECT, CURSOR] });
    expect(one.lines.filter((each) => each.includes("left out"))).toHaveLength(21);
  });

  test("alone are refused, with what to name", async () => {
    const { status, body } = await registerHost(await startWorld(), { redirect_uris: [CLINE] });
    expect(status).toBe(400);
    expect(body.error_description).toBe(
      "a redirect URI has the scheme vscode, which auth.signIn.redirectSchemes does not name",
    );
  });

  test("are left out of client metadata documents too", async () => {
    const id = "https://host.example/client.json";
    const document = { client_id: id, client_name: "Documented", redirect_uris: [CURSOR, REDIRECT] };
    const one = await startWorld({ fetchDocument: async () => document });
    expect((await new Browser().open(authorizeUrl(one, { client_id: id }))).status).toBe(200);
    const refused = await new Browser().open(authorizeUrl(one, { client_id: id, redirect_uri: CURSOR }));
    expect(refused).toMatchObject({ status: 400, location: undefined });
    expect(one.lines.join()).toContain("Documented");
  });
});

describe("a private scheme that auth.signIn.redirectSchemes names", () => {
  const signIn = { redirectSchemes: ["cursor", "com.example.app"] };

  test.each([CURSOR, "com.example.app:/oauth2redirect/x", "cursor://a/cb?x=1", "cursor://a"])(
    "gets the code: %s",
    async (redirect_uri) => {
      const one = await startWorld({ company: realCompany, signIn });
      const client_id = await hostId(one, { redirect_uris: [redirect_uri] });
      const { verifier, challenge } = pkce();
      const url = authorizeUrl(one, { client_id, redirect_uri, code_challenge: challenge });
      const page = await new Browser().signIn(url, "alice");
      expect(page.location?.startsWith(redirect_uri)).toBe(true);
      const { code = "", state } = answerIn(page);
      expect(state).toBe("state of the host");
      const form = { client_id, redirect_uri, code, code_verifier: verifier };
      const { status } = await tokenRequest(one, { grant_type: "authorization_code", ...form });
      expect(status).toBe(200);
    },
  );

  test("is shown on the consent page as what it is: a program, not a website", async () => {
    const one = await startWorld({ signIn });
    const redirect_uri = "cursor://claude.ai/cb";
    const client_id = await hostId(one, { redirect_uris: [redirect_uri] });
    const { text } = await new Browser().open(authorizeUrl(one, { client_id, redirect_uri }));
    expect(text).toContain("the program of this computer that opens addresses with <b>cursor:</b>");
    expect(text).toContain(redirect_uri);
    expect(text).not.toContain("the website");
  });

  test.each(["cursor://127.0.0.1/cb", "cursor://claude.ai/cb"])(
    "is no loopback and no website: an error before consent redirects no browser to %s",
    async (redirect_uri) => {
      const one = await startWorld({ signIn: { ...signIn, allowedRedirectHosts: ["claude.ai"] } });
      const client_id = await hostId(one, { redirect_uris: [redirect_uri] });
      const page = await new Browser().open(
        authorizeUrl(one, { client_id, redirect_uri, response_type: "token" }),
      );
      expect(page).toMatchObject({ status: 400, location: undefined });
      expect(page.text).toContain("(cursor:)");
    },
  );

  test.each([
    "cursor:opaque",
    "cursor:",
    "CURSOR://a/cb",
    "cursor://a/../cb",
    "cursor://a/%2e%2e/cb",
    "cursor://user@a/cb",
    "cursor://@a/cb",
    "cursor://a/cb#x",
    "cursor://a/c b",
    "cursor2://a/cb",
    "javascript://a/%0aalert(1)",
  ])("is compared as it stands: %s is left out", async (uri) => {
    const { body } = await registerHost(await startWorld({ signIn }), { redirect_uris: [uri, REDIRECT] });
    expect(body.redirect_uris).toEqual([REDIRECT]);
  });

  test("is compared as text: another port, path or host is not registered", async () => {
    const one = await startWorld({ signIn });
    const client_id = await hostId(one, { redirect_uris: [CURSOR] });
    for (const redirect_uri of [
      `${CURSOR}/x`,
      `${CURSOR}?x`,
      CURSOR.replace("mcp/", "mcp:81/"),
      "cursor://b",
    ])
      expect((await new Browser().open(authorizeUrl(one, { client_id, redirect_uri }))).status).toBe(400);
  });

  test("is forgotten when the config no longer names it", async () => {
    const store = new MemoryStore(Date.now);
    const client_id = await hostId(await startWorld({ store, signIn }), { redirect_uris: [CURSOR] });
    const later = await startWorld({ store });
    const page = await new Browser().open(authorizeUrl(later, { client_id, redirect_uri: CURSOR }));
    expect(page.status).toBe(400);
  });
});
