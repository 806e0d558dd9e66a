/** A person opens the URL of the gateway in a browser, and the gateway does not know who it is. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { testOf } from "../../support/features.js";
import { JSON_HEADERS, send } from "../../support/http-host.js";
import { recordingServer } from "../../support/servers/recording-server.js";
import { BROWSER, KEYS, PAGE, PersonsBrowser, serving } from "./stage.js";

/** Some tools are refused by rules. */
const test = testOf(PAGE, "policy", "sign-in");

const pageOf = (url: string): string => new URL("/", url).href;
/** Of a gateway without credentials, for all tests that change nothing. */
let open: string;
const ended: (() => Promise<void>)[] = [];
beforeAll(async () => {
  open = await serving({}, { ends: (end) => ended.push(end) });
});
afterAll(async () => {
  for (const end of ended.reverse()) await end();
});
const get = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  send(url, { method: "GET", headers: { ...BROWSER, ...headers } });

describe("a gateway without authentication", () => {
  test("shows the address, how each host is connected, and the tools that every host has", async () => {
    const url = open;
    const { status, text, headers } = await get(pageOf(url));
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(text).toContain(`claude mcp add --transport http cardea ${url}`);
    expect(text).toContain(`codex mcp add cardea --url ${url}`);
    const link = /href="vscode:mcp\/install\?([^"]+)"/.exec(text)?.[1] ?? "";
    expect(JSON.parse(decodeURIComponent(link))).toEqual({ name: "cardea", type: "http", url });
    const config =
      /cursor-deeplink\/mcp\/install\?name=cardea&(?:amp;)?config=([^"]+)"/.exec(text)?.[1] ?? "";
    const decoded = Buffer.from(decodeURIComponent(config), "base64").toString();
    expect(JSON.parse(decoded)).toEqual({ url });
    const entry = { mcpServers: { cardea: { serverUrl: url } } };
    expect(text).toContain(`<pre>${JSON.stringify(entry, null, 2).replaceAll('"', "&quot;")}</pre>`);
    expect(text).not.toContain("�");
    for (const host of ["Claude Desktop", "Windsurf", "Zed", "Gemini CLI", "opencode"])
      expect(text).toContain(`<summary>${host}</summary>`);
    expect(text).toContain("wiki__read");
    expect(text).toContain("pay__send");
  });

  test("marks what is refused, needs approval or depends on arguments, with the words of the rule", async () => {
    const { text } = await get(pageOf(open));
    const itemOf = (tool: string): string =>
      new RegExp(`<li><code>${tool}</code>.*?</li>`).exec(text)?.[0] ?? "";
    expect(itemOf("wiki__read")).not.toContain("badge");
    expect(itemOf("wiki__write")).toContain("refused");
    expect(itemOf("wiki__write")).toContain("the wiki is read-only here");
    expect(itemOf("wiki__delete")).toContain("needs approval");
    expect(itemOf("wiki__sum")).toContain("depends on arguments");
    expect(text).toContain("5 tools, 1 refused, 1 needs approval, 1 depends on arguments");
  });

  test("shows nothing of a tool or server that rules hide", async () => {
    const hidden = [
      { tools: ["wiki__write"], effect: "hide" },
      { servers: ["pay"], effect: "hide" },
    ];
    const { text } = await get(pageOf(await serving({ policy: { rules: hidden } })));
    expect(text).toContain("wiki__read");
    expect(text).not.toContain("wiki__write");
    expect(text).not.toContain("pay");
  });

  test("shows the tools of one endpoint, with its address", async () => {
    const url = open;
    const { location } = (await get(`${url}/pay`)).headers;
    const { text } = await get(new URL(location ?? "", `${url}/pay`).href);
    expect(text).toContain(`cardea ${url}/pay`);
    expect(text).toContain("<code>send</code>");
    expect(text).not.toContain("read</code>");
  });

  test("has no script, and allows none", async () => {
    const { text, headers } = await get(pageOf(open));
    expect(text).not.toMatch(/<script|javascript:|\son\w+=|<img|<link/i);
    const [, style = ""] = /<style>([\s\S]*)<\/style>/.exec(text) ?? [];
    const hash = createHash("sha256").update(style).digest("base64");
    const policy = String(headers["content-security-policy"]);
    expect(policy).toContain(`default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'`);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(headers["cache-control"]).toBe("no-store");
  });

  test("escapes what servers say of their tools", async () => {
    const tool = { name: "x", description: "<script>alert(1)</script>", inputSchema: { type: "object" } };
    const server = await recordingServer("bad", "modern", { tools: [tool] }, () => {});
    const { text } = await get(pageOf(await serving({ mcpServers: { bad: { url: server.url } } })));
    await server.close();
    expect(text).toContain("&lt;script&gt;alert(1)");
    expect(text).not.toContain("<script>");
  });
});

describe("browsers at the URL for hosts", () => {
  test.each([
    ["", "./"],
    ["/pay", "../?at=pay"],
    ["/%22%3E%3Cb%3E", "../"],
  ])("are led to the page from %j", async (path, location) => {
    const { status, headers } = await get(`${open}${path}`);
    expect([status, headers.location]).toEqual([303, location]);
  });

  test.each([
    ["a host that opens its event stream", { accept: "text/event-stream" }],
    ["a host of a session", { accept: "text/html", "mcp-session-id": "x" }],
    ["curl", { accept: "*/*" }],
  ])("%s is not led there", async (_, headers) => {
    const url = open;
    for (const each of [url, pageOf(url)]) {
      const { status, text } = await send(each, { method: "GET", headers });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(text).not.toContain("<html");
    }
  });

  test("a program that posts to the path of the page learns where the endpoint is", async () => {
    const { status, text } = await send(pageOf(open), { headers: JSON_HEADERS, body: "{}" });
    expect(status).toBe(404);
    expect(text).toContain("the MCP endpoint is /mcp");
  });

  test("get nothing at a name that is no name of this machine", async () => {
    const url = pageOf(open);
    expect((await get(url, { host: "evil.example" })).status).toBe(403);
  });

  test("get the page for HEAD without a body", async () => {
    const { status, text } = await send(pageOf(open), { method: "HEAD", headers: BROWSER });
    expect([status, text]).toEqual([200, ""]);
  });
});

describe("a gateway whose hosts send keys", () => {
  test("shows how to connect with a key, and no tool or server", async () => {
    const url = await serving({ auth: { keys: KEYS } });
    const { text } = await get(pageOf(url), { authorization: "Bearer the-key-of-ann" });
    expect(text).toContain(`cardea ${url} --header &quot;Authorization: Bearer YOUR-KEY&quot;`);
    expect(text).not.toContain("vscode:mcp/install");
    expect(text).not.toMatch(/wiki|pay__/);
  });

  test("does nothing for a browser that presses a button", async () => {
    const page = pageOf(await serving({ auth: { keys: KEYS } }));
    const browser = new PersonsBrowser();
    for (const action of ["sign-in", "sign-out", "connect", "disconnect"]) {
      const { status } = await browser.press(page, { action, server: "wiki" });
      expect([action, status >= 400]).toEqual([action, true]);
    }
    expect(browser.setCookies).toEqual([]);
  });
});
