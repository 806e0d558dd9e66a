/** What a person sees who opens the URL of the MCP endpoint in a browser: what it is, and how a host connects to it. */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { HEADER } from "../wire/names.js";

/**
 * Whether a browser shows the answer to a person: it prefers HTML, and neither wants events nor has a session, as every host
 * does that sends GET.
 */
export function isForBrowser({ method, headers }: IncomingMessage): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  const { accept = "" } = headers;
  return (
    /\btext\/html\b/i.test(accept) &&
    !/\btext\/event-stream\b/i.test(accept) &&
    headers[HEADER.sessionId] === undefined
  );
}

/** The name of an endpoint that the page for persons is asked about. */
const ENDPOINT_NAME = /^[\w.-]{1,200}$/;

/**
 * Redirects to the page for persons at `path`, which learns the endpoint whose URL was opened. The address is relative: a proxy in
 * front may serve the gateway below a path of its own.
 */
export function leadToPage(
  { url = "" }: IncomingMessage,
  response: ServerResponse,
  path: string,
  endpoint: string,
): void {
  const depth = (url.split("?", 1)[0] ?? "").split("/").length - 2;
  const query = ENDPOINT_NAME.test(endpoint) ? `?at=${endpoint}` : "";
  const location = `${"../".repeat(depth) || "./"}${path.slice(1)}${query}`;
  response.writeHead(303, { location, "cache-control": "no-store", vary: "accept" }).end();
}

/** Answers with the page. It is the same for every name and every person, and shows nothing of the gateway. */
export function sendBrowserPage(request: IncomingMessage, response: ServerResponse): void {
  const body = pageFor(addressOf(request));
  response.writeHead(200, { ...HEADERS, "content-length": Buffer.byteLength(body) });
  response.end(request.method === "HEAD" ? undefined : body);
}

/** As the person typed it, as far as the request shows; a proxy in front may have ended TLS. */
function addressOf({ headers, url = "" }: IncomingMessage): string {
  const [path = ""] = url.split("?", 1);
  const scheme = headers["x-forwarded-proto"] === "https" ? "https" : "http";
  return `${scheme}://${headers.host ?? "localhost"}${path}`;
}

const STYLE = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; padding: 8vh 1rem 2rem }
main { max-width: 38rem; margin: 0 auto }
h1 { font-size: 1.4rem; line-height: 1.25 }
code { font: .95em/1.4 ui-monospace, monospace; overflow-wrap: anywhere }
pre { padding: .75rem 1rem; border: 1px solid #8884; border-radius: .4rem; white-space: pre-wrap }
`;

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  vary: "accept",
};

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" },
};
const escaped = (text: string): string =>
  text.replace(/[^\x20-\x7e]/g, "�").replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);

function pageFor(address: string): string {
  const url = escaped(address);
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>MCP endpoint</title><style>${STYLE}</style></head>
<body><main>
<h1>This is an MCP endpoint</h1>
<p>It is for programs: a host such as Claude, Cursor or VS Code connects to it and gets tools. There is nothing to see for a browser.</p>
<p>Give this address to your host as a server of the type HTTP (Streamable HTTP):</p>
<pre><code>${url}</code></pre>
<p>For example:</p>
<pre><code>claude mcp add --transport http cardea ${url}
{ "mcpServers": { "cardea": { "type": "http", "url": "${url}" } } }</code></pre>
<p>If it asks for credentials, the host signs you in, or its operator has given you a key for the <code>Authorization</code> header.
On the machine where it runs, <code>cardea install</code> writes the entry, and <code>cardea status</code> shows what it serves.</p>
</main></body>
</html>
`;
}
