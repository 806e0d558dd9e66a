/** What loopback is, for whoever checks a config and for whoever serves it: one definition. */
import { BlockList, isIP } from "node:net";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/**
 * Whether `host` can be reached from this machine alone: `localhost` in any case, 127.0.0.0/8 and ::1 in any notation,
 * with or without brackets. Names below `localhost` are not: what they resolve to is for the resolver to say.
 *
 * @param host a bind address, or a name as it stands in a URL or a `Host` header, without its port
 */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "");
  if (name.toLowerCase() === "localhost") return true;
  const family = isIP(name);
  return family !== 0 && LOOPBACK.check(name, family === 6 ? "ipv6" : "ipv4");
}
