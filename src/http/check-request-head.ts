/**
 * Is an HTTP request allowed by its head alone? Its `Host` must name this gateway, and an `Origin` must be configured:
 * otherwise a web page could reach a gateway on loopback by DNS rebinding (GHSA-w48q-cv73-mx4w; 2026-07-28:
 * basic/transports/streamable-http, "Security").
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { badRequest, GatewayError, headerMismatch } from "../core/errors.js";
import { isLoopback } from "./loopback.js";

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
 * so is the origin of the console itself, and HTTP/1.0 without a `Host`, in which load balancers ask and browsers do not.
 * @throws GatewayError `bad_request` or `forbidden`
 */
export function checkOperatorRequestHead(request: IncomingMessage, protection: RebindingProtection): void {
  const { host = "", origin } = request.headers;
  const isHostless = request.headers.host === undefined && request.httpVersion === "1.0";
  checkTargetAndHeaders(request, isHostless ? 0 : 1);
  if (!isHostless && !protection.allowsHost(host) && !cannotBeRebound(host)) throw hostNotAllowed();
  if (origin !== undefined && !protection.allowsOrigin(origin) && !isOwnOrigin(origin, host)) {
    throw originNotAllowed();
  }
}

/**
 * The same as `checkRequestHead` for a page that a person opens, which sends its forms with the origin of the page itself;
 * with `null` where the page sends no referrer, and then a browser says by `Sec-Fetch-Site`, which no page can set, whose form it is.
 * @throws GatewayError `bad_request` or `forbidden`
 */
export function checkPageRequestHead(request: IncomingMessage, protection: RebindingProtection): void {
  checkTargetAndHeaders(request);
  const { host = "", origin } = request.headers;
  if (!protection.allowsHost(host)) throw hostNotAllowed();
  if (origin === "null" && request.headers["sec-fetch-site"] === "same-origin") return;
  const isOwn = (sent: string): boolean => isOwnOrigin(sent, host) || protection.isPublic(sent);
  if (origin !== undefined && !protection.allowsOrigin(origin) && !isOwn(origin)) throw originNotAllowed();
}

/**
 * The same for a public page, which any origin may read; a request with another `Host` still gets none.
 * @throws GatewayError `bad_request` or `forbidden`
 */
export function checkPublicRequestHead(request: IncomingMessage, protection: RebindingProtection): void {
  checkTargetAndHeaders(request);
  if (!protection.allowsHost(request.headers.host ?? "")) throw hostNotAllowed();
}

function checkTargetAndHeaders({ rawHeaders, url = "" }: IncomingMessage, hosts = 1): void {
  checkRepeatedHeaders(rawHeaders, hosts);
  // An absolute request target would name a second host.
  if (!url.startsWith("/")) throw badRequest("the request target must be a path");
}

/**
 * Host, Authorization and `Mcp-*` headers must not be repeated: Node keeps the first of some and joins others, while a
 * proxy in front may have checked another one.
 */
function checkRepeatedHeaders(rawHeaders: readonly string[], expectedHosts: number): void {
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
  if (twice !== undefined) throw headerMismatch(`the ${twice} header is repeated`);
  if (hosts !== expectedHosts) throw badRequest("there must be exactly one Host header");
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

/** The allowed hosts and origins of one listener. */
export interface RebindingProtection {
  allowsHost(header: string): boolean;
  /** Whether the `Origin` is allowed. `null`, which sandboxed pages and local files send, never is. */
  allowsOrigin(header: string): boolean;
  /** Whether the `Origin` is the one at which browsers reach the gateway, whatever `Host` a proxy in front sends. */
  isPublic(header: string): boolean;
}

interface RebindingProtectionOptions {
  readonly bind: string;
  /** Names with a port, or without one for any port. */
  readonly allowedHosts: readonly string[];
  /** Whole origins, such as `https://app.example.com`. */
  readonly allowedOrigins: readonly string[];
  /** Where browsers reach the listener. Default: where it listens. */
  readonly publicUrl?: string;
}

const MAX_CACHED = 100;

/** Loopback names are always allowed on a loopback bind; beyond that an empty list allows nothing. */
export function rebindingProtection({
  bind,
  allowedHosts,
  allowedOrigins,
  publicUrl,
}: RebindingProtectionOptions): RebindingProtection {
  const onLoopback = isLoopback(bind);
  const hosts = new Set(allowedHosts.map((host) => host.toLowerCase()));
  // The bind address itself is allowed: an address cannot be rebound.
  if (isIP(bind) !== 0 && !isUnspecified(bind)) hosts.add(hostInUrl(bind));
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
  // All sandboxed pages and local files share this origin, so it cannot be allowed.
  origins.delete("null");
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
  /** A cache of allowed Host headers. */
  const known = new Set<string>();
  const isOwnHost = (header: string): boolean => {
    const [name, whole] = splitHost(header);
    if (name === undefined) return false;
    return hosts.has(whole) || hosts.has(name) || (onLoopback && isLoopback(name));
  };
  return {
    allowsHost(header) {
      if (known.has(header)) return true;
      const ours = isOwnHost(header);
      if (ours && known.size < MAX_CACHED) known.add(header);
      return ours;
    },
    allowsOrigin(header) {
      const origin = header.toLowerCase();
      if (origins.has(origin)) return true;
      const [name] = splitHost(authorityOf(origin) ?? "");
      return onLoopback && name !== undefined && isLoopback(name);
    },
    isPublic: (header) => publicOrigin !== undefined && header.toLowerCase() === publicOrigin,
  };
}

/** Whether the Host header needs no DNS: it is an IP address or `localhost`. */
export function cannotBeRebound(header: string): boolean {
  const [name] = splitHost(header);
  return name !== undefined && (isIP(withoutBrackets(name)) !== 0 || name === "localhost");
}

/**
 * Whether a page of this gateway has sent the form, as the browser says: by `Sec-Fetch-Site`, which it sends over https and to
 * loopback, or by the origin. A request with neither is of no browser.
 *
 * @param publicUrl where browsers reach the gateway: a proxy in front may send another `Host`
 */
export function isFromOwnPage(
  { headers }: Pick<IncomingMessage, "headers">,
  publicUrl: string | undefined,
): boolean {
  const { origin, host = "" } = headers;
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site === "same-origin";
  return origin !== undefined && isOwnOrigin(origin, host, publicUrl);
}

/** Whether the origin is the one of the Host header, or that of the URL for browsers where there is one. */
export function isOwnOrigin(origin: string, host: string, publicUrl?: string): boolean {
  const sent = origin.toLowerCase();
  return (
    authorityOf(sent) === host.toLowerCase() ||
    (publicUrl !== undefined && sent === new URL(publicUrl).origin)
  );
}

const authorityOf = (origin: string): string | undefined => /^https?:\/\/([^/]+)$/.exec(origin)?.[1];

/** The name without its port, and the whole header, in lower case; no name when it is not `name[:port]`. */
function splitHost(header: string): readonly [name: string | undefined, whole: string] {
  const whole = header.trim().toLowerCase();
  const [, name] = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(whole) ?? [];
  return [name, whole];
}

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, "");
const hostInUrl = (address: string): string => (isIP(address) === 6 ? `[${address.toLowerCase()}]` : address);
const isUnspecified = (address: string): boolean => address === "0.0.0.0" || address === "::";
