/** Which IP addresses does a text name: one, a CIDR range, or a word for several ranges? */
import { isIP } from "node:net";

/** The addresses that begin with the first `prefix` bits of `address`. */
export interface AddressRange {
  readonly address: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

const v4 = (address: string, prefix: number): AddressRange => ({ address, prefix, family: "ipv4" });
const v6 = (address: string, prefix: number): AddressRange => ({ address, prefix, family: "ipv6" });

/** Words of Express and others for ranges. */
const NAMED: ReadonlyMap<string, readonly AddressRange[]> = new Map([
  ["loopback", [v4("127.0.0.0", 8), v6("::1", 128)]],
  ["linklocal", [v4("169.254.0.0", 16), v6("fe80::", 10)]],
  ["private", [v4("10.0.0.0", 8), v4("172.16.0.0", 12), v4("192.168.0.0", 16), v6("fc00::", 7)]],
]);

/** The ranges that `text` names; a text says what is wrong with it, as the end of a sentence. */
export function addressRanges(text: string): readonly AddressRange[] | string {
  const named = NAMED.get(text);
  if (named !== undefined) return named;
  const [address = "", bits, ...more] = text.split("/");
  const family = address.includes("%") ? 0 : isIP(address);
  const all = family === 4 ? 32 : 128;
  const prefix = bits === undefined ? all : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  if (family === 0 || more.length > 0 || !(prefix <= all))
    return `must be an address, a range such as "10.0.0.0/8" or "fd00::/8", or ${[...NAMED.keys()].map((name) => `"${name}"`).join(", ")}`;
  if (prefix === 0) return "names every address, so that every client could say where it comes from";
  if (canonicalAddress(address)?.includes(".") && family === 6)
    return "must be written as an IPv4 address, without ::ffff:";
  return [family === 4 ? v4(address, prefix) : v6(address, prefix)];
}

const MAPPED = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/;

/**
 * One spelling for each address: IPv6 in its short form (RFC 5952) without a zone, IPv4-mapped ones as IPv4. Undefined if
 * `text` is no address.
 */
export function canonicalAddress(text: string): string | undefined {
  const [address = ""] = text.split("%", 1);
  switch (isIP(address)) {
    case 4:
      return address;
    case 6: {
      const short = new URL(`http://[${address}]`).hostname.slice(1, -1);
      const [, high, low] = MAPPED.exec(short) ?? [];
      if (high === undefined || low === undefined) return short;
      const bits = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16);
      return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".");
    }
    default:
      return undefined;
  }
}
