/**
 * Which names a browser-born request may come under: its Host must be this gateway's own, and an Origin must be
 * one that was let in. Without both checks any web page could reach a gateway on the loopback interface by
 * rebinding a name of its own (GHSA-w48q-cv73-mx4w; spec 2026-07-28: basic/transports/streamable-http, "Security").
 */
import { isIP } from "node:net";
import { isLoopback } from "./loopback.js";

export interface RebindingProtection {
  /** Whether a `Host` header names this gateway. */
  allowsHost(header: string): boolean;
  /** Whether pages of this `Origin` may call. `null`, which sandboxes and files send, never may. */
  allowsOrigin(header: string): boolean;
}

export interface RebindingProtectionOptions {
  /** The address the listener is bound to. */
  readonly bind: string;
  /** Names, with or without a port; without one every port is meant. */
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
  // An address cannot be rebound, so whoever names the very one we are bound to means us.
  if (isIP(bind) !== 0 && !isUnspecified(bind)) hosts.add(hostInUrl(bind));
  const origins = new Set(allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
  // Every sandboxed page and every local file shares this one; whoever lists it lets all of them in.
  origins.delete("null");
  /** As they were written by those who come again and again. */
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

/** Whether no name server has a say in what a Host header means: it is an address, or the name of this machine. */
export function cannotBeRebound(header: string): boolean {
  const [name] = splitHost(header);
  return name !== undefined && (isIP(withoutBrackets(name)) !== 0 || name === "localhost");
}

/** Whether pages of this origin come from the very place that the Host header names. */
export function isOwnOrigin(origin: string, host: string): boolean {
  return authorityOf(origin.toLowerCase()) === host.toLowerCase();
}

const authorityOf = (origin: string): string | undefined => /^https?:\/\/([^/]+)$/.exec(origin)?.[1];

/** The name without its port, and the whole, in lower case; nothing when it is no `name[:port]`. */
function splitHost(header: string): readonly [name: string | undefined, whole: string] {
  const whole = header.trim().toLowerCase();
  const [, name] = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?$/.exec(whole) ?? [];
  return [name, whole];
}

const withoutBrackets = (host: string): string => host.replace(/^\[|\]$/g, "");
const hostInUrl = (address: string): string => (isIP(address) === 6 ? `[${address.toLowerCase()}]` : address);
const isUnspecified = (address: string): boolean => address === "0.0.0.0" || address === "::";
