/** Which requests come from the browser of a person, and where that is led. */
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
