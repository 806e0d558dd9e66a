/** Is a host name or address loopback? One definition for the config check and the listeners. */
import { BlockList, isIP } from "node:net";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/**
 * Whether `host` is loopback: `localhost` in any case, 127.0.0.0/8 and ::1 in any notation, with or without brackets.
 * Names below `localhost` are not, because a resolver may map them to any address.
 *
 * @param host a bind address, or the host of a URL or `Host` header, without its port
 */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "");
  if (name.toLowerCase() === "localhost") return true;
  const family = isIP(name);
  return family !== 0 && LOOPBACK.check(name, family === 6 ? "ipv6" : "ipv4");
}
