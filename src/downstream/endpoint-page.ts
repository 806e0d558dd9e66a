/** What a person sees who opens the URL of the MCP endpoint in a browser: what it is, and how a host connects to it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { html, PageKind } from "../http/html-page.js";

const KIND = new PageKind({ formAction: "'none'", referrer: "no-referrer" });

/** Answers with the page. It is the same for every name and every person, and shows nothing of the gateway. */
export function sendEndpointPage(request: IncomingMessage, response: ServerResponse): void {
  const body = pageFor(addressOf(request));
  response.writeHead(200, { ...KIND.headers, vary: "accept", "content-length": Buffer.byteLength(body) });
  response.end(request.method === "HEAD" ? undefined : body);
}

/** As the person typed it, as far as the request shows; a proxy in front may have ended TLS. */
function addressOf({ headers, url = "" }: IncomingMessage): string {
  const [path = ""] = url.split("?", 1);
  const scheme = headers["x-forwarded-proto"] === "https" ? "https" : "http";
  return `${scheme}://${headers.host ?? "localhost"}${path}`.replace(/[^\x20-\x7e]/g, "�");
}

function pageFor(url: string): string {
  const body = html`<h1>This is an MCP endpoint</h1>
<p>It is for programs: a host such as Claude, Cursor or VS Code connects to it and gets tools. There is nothing to see for a browser.</p>
<section class="card">
<p>Give this address to your host as a server of the type HTTP (Streamable HTTP):</p>
<pre>${url}</pre>
<p>For example:</p>
<pre>claude mcp add --transport http cardea ${url}
{ "mcpServers": { "cardea": { "type": "http", "url": "${url}" } } }</pre>
</section>
<p class="quiet">If it asks for credentials, the host signs you in, or its operator has given you a key for the <code>Authorization</code> header.
On the machine where it runs, <code>cardea install</code> writes the entry, and <code>cardea status</code> shows what it serves.</p>`;
  return KIND.text("MCP endpoint", body);
}
