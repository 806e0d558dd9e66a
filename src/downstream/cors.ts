/** What may pages of allowed origins send and read (fetch standard, "CORS protocol")? */
import type { IncomingMessage, ServerResponse } from "node:http";

const METHODS = "GET, POST, DELETE, OPTIONS";
/** Request headers of either era; `Mcp-Param-*`, which tools name, are allowed by their prefix. */
const ALLOWED_HEADERS = new Set([
  ...["accept", "authorization", "content-type", "last-event-id", "x-api-key"],
  ...["mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"],
]);
const EXPOSED_HEADERS = "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate";

/** Makes a response readable for pages of `origin`, which was checked before. */
export function allowOrigin(response: ServerResponse, origin: string): void {
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", EXPOSED_HEADERS);
  response.setHeader("vary", "Origin");
}

/** Answers the question of a browser before a request. `carried`: more headers that pages may send, in lower case. */
export function answerPreflight(
  request: IncomingMessage,
  response: ServerResponse,
  carried: readonly string[],
): void {
  const requested = String(request.headers["access-control-request-headers"] ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase());
  const headers = requested.filter(
    (name) => ALLOWED_HEADERS.has(name) || carried.includes(name) || /^mcp-param-[a-z0-9_-]+$/.test(name),
  );
  response.writeHead(204, {
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": headers.join(", "),
    "access-control-max-age": "600",
  });
  response.end();
}
