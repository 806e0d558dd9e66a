/** A person opens the URL of the MCP endpoint in a browser. */
import { createHash } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { gatewayOf } from "../support/gateway.js";
import { JSON_HEADERS, open, send } from "../support/http-host.js";

const BROWSER = {
  accept: "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
  "user-agent": "Mozilla/5.0",
  "sec-fetch-mode": "navigate",
};
const KEY = { id: "ann", hash: `sha256:${createHash("sha256").update("k").digest("hex")}` };

async function started(file: object = {}): Promise<string> {
  const gateway = await gatewayOf({ listen: { http: { port: 0 }, admin: { port: 0 } }, ...file });
  onTestFinished(() => gateway.stop({ immediate: true }));
  return (await gateway.start()).url;
}

test.each([
  ["", {}],
  ["/nobody", {}],
  ["", { auth: { keys: [KEY] } }],
])("at %j gets a page without a script that explains the endpoint, with %j", async (path, file) => {
  const url = await started(file);
  const { status, headers, text } = await send(`${url}${path}`, { method: "GET", headers: BROWSER });
  expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  expect(text).toContain("This is an MCP endpoint");
  expect(text).toContain(`claude mcp add --transport http cardea ${url}${path}`);
  expect(text).not.toMatch(/<script|javascript:|onload|src=|href=/i);
  const [, style = ""] = /<style>([\s\S]*)<\/style>/.exec(text) ?? [];
  const policy = String(headers["content-security-policy"]);
  expect(policy).toContain(`style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`);
  expect(policy).toContain("default-src 'none'");
  expect(headers["cache-control"]).toBe("no-store");
});

test("gets the page for HEAD without a body, and its address with TLS behind a proxy", async () => {
  const url = await started();
  expect((await send(url, { method: "HEAD", headers: BROWSER })).text).toBe("");
  const proxied = await send(url, { method: "GET", headers: { ...BROWSER, "x-forwarded-proto": "https" } });
  expect(proxied.text).toContain(url.replace("http:", "https:"));
});

test("cannot be given markup by a link", async () => {
  const url = await started();
  const { text } = await send(`${url}/%22%3E%3Cscript%3E'<b>&x`, { method: "GET", headers: BROWSER });
  expect(text).not.toMatch(/<script>|<b>/);
});

test("is refused at a name that is no name of this machine", async () => {
  const url = await started();
  const { status } = await send(url, { method: "GET", headers: { ...BROWSER, host: "evil.example" } });
  expect(status).toBe(403);
});

test.each([
  ["a host that opens its event stream", { accept: "text/event-stream" }],
  ["a host that also accepts HTML", { accept: "text/html, text/event-stream" }],
  ["curl", { accept: "*/*" }],
  ["a host of a session", { accept: "text/html", "mcp-session-id": "x" }],
])("%s gets no page", async (_, headers) => {
  const url = await started();
  const { text } = await send(url, { method: "GET", headers });
  expect(text).not.toContain("<html");
});

test("a POST that accepts HTML is a request", async () => {
  const url = await started();
  const response = await open(url, { headers: { ...JSON_HEADERS, accept: "text/html" }, body: "{}" });
  expect(response.headers["content-type"]).not.toContain("html");
  response.destroy();
});
