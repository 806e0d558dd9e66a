/** Whether an HTTP request may come in at all: against DNS rebinding, and against pages in the user's browser. */
import { isIP } from "node:net";

export interface FrontDoor {
  /** The address the listener is bound to. */
  readonly bindHost: string;
  /** Further names it may be called by: `name`, or `name:port`. */
  readonly allowedHosts: readonly string[];
  /** Further origins whose pages may call it, such as `https://app.example.com`. */
  readonly allowedOrigins: readonly string[];
}

/** The headers in question, each as often as it was sent. */
export interface Visitor {
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
}

/**
 * Why the visitor may not come in, in a plain sentence; undefined when it may.
 *
 * A page that rebinds DNS sends the name it was loaded from as `Host`, so names must be known. An IP address
 * in `Host` cannot be rebound: beyond loopback it is let in, because probes and scrapers come so.
 */
export function turnAway(visitor: Visitor, door: FrontDoor): string | undefined {
  const [host, second] = visitor.hosts;
  // Proxies and servers disagree on which of two Host headers counts, so two count as none.
  if (host === undefined || second !== undefined) return "exactly one Host header is required";
  if (!knowsHost(host, door)) return "this Host is not served here; listen.http.allowedHosts names more";
  const refused = visitor.origins.find((origin) => !knowsOrigin(origin, host, door));
  return refused === undefined
    ? undefined
    : "this Origin may not call; listen.http.allowedOrigins names more";
}

/** True for `localhost`, 127.0.0.0/8 and ::1, with or without brackets. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (name === "localhost" || name === "::1") return true;
  return isIP(name) === 4 && name.startsWith("127.");
}

function knowsHost(host: string, door: FrontDoor): boolean {
  const name = hostName(host);
  if (name === undefined) return false;
  if (door.allowedHosts.some((known) => equalNames(known, host) || equalNames(known, name))) return true;
  if (isLoopback(name)) return true;
  return !isLoopback(door.bindHost) && (isIP(bare(name)) !== 0 || equalNames(name, door.bindHost));
}

function knowsOrigin(origin: string, host: string, door: FrontDoor): boolean {
  if (door.allowedOrigins.some((known) => equalNames(known, origin))) return true;
  if (!/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return false;
  const url = new URL(origin);
  if (equalNames(url.host, host)) return true;
  return isLoopback(door.bindHost) && isLoopback(url.hostname);
}

/** The name without its port; undefined when it is none. */
function hostName(host: string): string | undefined {
  const found = /^(\[[0-9a-f:.]+\]|[^\s:/@\\?#[\]]+)(?::\d{1,5})?$/i.exec(host);
  return found?.[1];
}

const bare = (name: string): string => name.replace(/^\[(.*)\]$/, "$1");
const equalNames = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();
