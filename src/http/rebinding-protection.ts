/**
 * Which `Host` and `Origin` headers are allowed? The Host must name this gateway, and an Origin must be configured.
 * Without both checks a web page could reach a gateway on loopback by DNS rebinding
 * (GHSA-w48q-cv73-mx4w; spec 2026-07-28: basic/transports/streamable-http, "Security").
 */
import { isIP } from "node:net";
import { isLoopback } from "./loopback.js";

/** The allowed hosts and origins of one listener. */
export interface RebindingProtection {
  /** Whether a `Host` header names this gateway. */
  allowsHost(header: string): boolean;
  /** Whether the `Origin` is allowed. `null`, which sandboxed pages and local files send, never is. */
  allowsOrigin(header: string): boolean;
}

/** From `listen.http` or `listen.admin`. */
export interface RebindingProtectionOptions {
  /** The address the listener is bound to. */
  readonly bind: string;
  /** Names with a port, or without one for any port. */
  readonly allowedHosts: readonly string[];
  /** Whole origins, such as `https://app.example.com`. */
  readonly allowedOrigins: readonly string[];
}

const MAX_CACHED = 100;

/** Loopback names are always allowed on a loopback bind; beyond that an empty list allows nothing. */
export function rebindingProtection({
  bind,
  allowedHosts,
  allowedOrigins,
}: RebindingProtectionOptions): RebindingProtection {
  const onLoopback = isLoopback(bind);
  const hosts = new Set(allowedHosts.map((host) => host.toLowerCase()));
  // The bind address itself is allowed: an address cannot be rebound.
  if (isIP(bind) !== 0 && !isUnspecified(bind)) hosts.add(hostInUrl(bind));
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
  // All sandboxed pages and local files share this origin, so it cannot be allowed.
  origins.delete("null");
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
  };
}

/** Whether the Host header needs no DNS: it is an IP address or `localhost`. */
export function cannotBeRebound(header: string): boolean {
  const [name] = splitHost(header);
  return name !== undefined && (isIP(withoutBrackets(name)) !== 0 || name === "localhost");
}

/** Whether the origin is the one of the Host header. */
export function isOwnOrigin(origin: string, host: string): boolean {
  return authorityOf(origin.toLowerCase()) === host.toLowerCase();
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
