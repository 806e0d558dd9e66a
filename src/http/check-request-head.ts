/** Whether an HTTP request may be looked at at all, on whichever listener it came, judged by its head alone. */
import type { IncomingMessage } from "node:http";
import { GatewayError } from "../core/errors.js";
import { CODE } from "../wire/names.js";
import { cannotBeRebound, isOwnOrigin, type RebindingProtection } from "./rebinding-protection.js";

/**
 * Checks what every request of a host must be sure of: who is meant (Host) and on whose behalf (Origin).
 * @throws GatewayError `bad_request` or `forbidden`
 */
export function checkRequestHead(request: IncomingMessage, door: RebindingProtection): void {
  checkTargetAndHeaders(request);
  if (!door.allowsHost(request.headers.host ?? "")) throw hostNotAllowed();
  const { origin } = request.headers;
  if (origin !== undefined && !door.allowsOrigin(origin)) throw originNotAllowed();
}

/**
 * The same for operators and the probes of orchestrators. They name the address they found us at, and that is as good
 * as an allowed name, because nobody can rebind it; and the console's own page may ask what it shows.
 * @throws GatewayError `bad_request` or `forbidden`
 */
export function checkOperatorRequestHead(request: IncomingMessage, door: RebindingProtection): void {
  checkTargetAndHeaders(request);
  const { host = "", origin } = request.headers;
  if (!door.allowsHost(host) && !cannotBeRebound(host)) throw hostNotAllowed();
  if (origin !== undefined && !door.allowsOrigin(origin) && !isOwnOrigin(origin, host)) {
    throw originNotAllowed();
  }
}

function checkTargetAndHeaders({ rawHeaders, url = "" }: IncomingMessage): void {
  checkRepeatedHeaders(rawHeaders);
  // A target with an authority of its own would say twice who is meant.
  if (!url.startsWith("/")) throw badRequest("the request target must be a path");
}

/**
 * Host, Authorization and the `Mcp-*` headers must stand there once: Node takes the first of the one kind and
 * joins those of the other, while whoever stands in front may have judged by another one of them.
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
/** So many names are compared with each other sooner than a set is made of them. */
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
