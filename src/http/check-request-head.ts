/** Is an HTTP request allowed by its head alone? Checked on both listeners before anything else. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../core/errors.js";
import { CODE } from "../wire/names.js";
import { cannotBeRebound, isOwnOrigin, type RebindingProtection } from "./rebinding-protection.js";

/**
 * Checks `Host` and `Origin` (DNS rebinding) and repeated headers of a request to the main listener.
 * @throws GatewayError `bad_request` or `forbidden`
 */
export function checkRequestHead(request: IncomingMessage, protection: RebindingProtection): void {
  checkTargetAndHeaders(request);
  if (!protection.allowsHost(request.headers.host ?? "")) throw hostNotAllowed();
  const { origin } = request.headers;
  if (origin !== undefined && !protection.allowsOrigin(origin)) throw originNotAllowed();
}

/**
 * The same for the admin listener and probes. An IP address as `Host` is allowed as well, because it cannot be rebound;
 * so is the origin of the console itself.
 * @throws GatewayError `bad_request` or `forbidden`
 */
export function checkOperatorRequestHead(request: IncomingMessage, protection: RebindingProtection): void {
  checkTargetAndHeaders(request);
  const { host = "", origin } = request.headers;
  if (!protection.allowsHost(host) && !cannotBeRebound(host)) throw hostNotAllowed();
  if (origin !== undefined && !protection.allowsOrigin(origin) && !isOwnOrigin(origin, host)) {
    throw originNotAllowed();
  }
}

function checkTargetAndHeaders({ rawHeaders, url = "" }: IncomingMessage): void {
  checkRepeatedHeaders(rawHeaders);
  // An absolute request target would name a second host.
  if (!url.startsWith("/")) throw badRequest("the request target must be a path");
}

/**
 * Host, Authorization and `Mcp-*` headers must not be repeated: Node keeps the first of some and joins others, while a
 * proxy in front may have checked another one.
 */
function checkRepeatedHeaders(rawHeaders: readonly string[]): void {
  let hosts = 0;
  let authorizations = 0;
  const own: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts += 1;
    else if (name.length === 13 && name.toLowerCase() === "authorization") authorizations += 1;
    else if (name.charCodeAt(3) === DASH) {
      const lower = name.toLowerCase();
      if (lower.startsWith("mcp-")) own.push(lower);
    }
  }
  const twice =
    own.length > MAX_COMPARED ? firstDuplicate(own) : own.find((name, at) => own.indexOf(name) < at);
  if (twice !== undefined) throw repeatedHeader(twice);
  if (hosts !== 1) throw badRequest("there must be exactly one Host header");
  if (authorizations > 1) throw badRequest("there are several Authorization headers");
}

const DASH = 45;
/** Up to this number of names a quadratic comparison is faster than a Set. */
const MAX_COMPARED = 8;

function firstDuplicate(names: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size);
}

const forbidden = (message: string): GatewayError => new GatewayError("forbidden", "downstream", message);
const hostNotAllowed = (): GatewayError =>
  forbidden("this Host is not allowed here; listen.http.allowedHosts names those that are");
const originNotAllowed = (): GatewayError =>
  forbidden("this Origin is not allowed here; listen.http.allowedOrigins names those that are");
const badRequest = (message: string): GatewayError => new GatewayError("bad_request", "downstream", message);

const repeatedHeader = (name: string): GatewayError =>
  new GatewayError("bad_request", "downstream", `Header mismatch: the ${name} header is repeated`, {
    rpc: CODE.headerMismatch,
  });
