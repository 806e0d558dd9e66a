/** Is an address public? Guards requests to URLs that come from a peer against SSRF and DNS rebinding. */
import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

/** IANA's special-purpose address registries, and ranges that embed an IPv4 address. */
const SPECIAL_PURPOSE_ADDRESSES = new BlockList();
for (const [network, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const) {
  SPECIAL_PURPOSE_ADDRESSES.addSubnet(network, prefix, "ipv4");
}
for (const [network, prefix] of [
  ["::", 96],
  ["64:ff9b::", 32],
  ["100::", 64],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
  ["fc00::", 7],
  ["fe80::", 9],
  ["ff00::", 8],
] as const) {
  SPECIAL_PURPOSE_ADDRESSES.addSubnet(network, prefix, "ipv6");
}

/** False for what is no IP address. An IPv4-mapped IPv6 address is checked as the IPv4 address. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && !SPECIAL_PURPOSE_ADDRESSES.check(address, family === 4 ? "ipv4" : "ipv6");
}

/**
 * A DNS lookup for `net.connect` that fails when any address of the name is not public. The connection uses the checked
 * addresses, so DNS rebinding has no second lookup. Literal addresses are not looked up; see `isPublicHost`.
 */
export const publicLookup =
  (resolve: typeof systemLookup = systemLookup): LookupFunction =>
  (hostname, options, callback) => {
    if (isLocalName(hostname)) return callback(notPublic(hostname), "");
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "");
      const blocked = addresses.find(({ address }) => !isPublicAddress(address));
      const [first] = addresses;
      if (blocked !== undefined || first === undefined) return callback(notPublic(hostname), "");
      if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

/** Names that are never public: without a dot, or below a domain that is reserved for local use (RFC 6761, 6762, 8375). */
const isLocalName = (hostname: string): boolean =>
  isIP(hostname) === 0 &&
  (!hostname.replace(/\.$/, "").includes(".") ||
    /\.(?:localhost|local|internal|home\.arpa|lan)\.?$/i.test(hostname));

/** Whether the host of a URL is a name, or a public address. */
export function isPublicHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, "");
  return isIP(address) === 0 || isPublicAddress(address);
}

/** A host is, or resolves to, an address that is not public. */
export class NotPublicError extends Error {
  override readonly name = "NotPublicError";
}

/** The error for `hostname`. */
export const notPublic = (hostname: string): NotPublicError =>
  new NotPublicError(`${hostname} is an address of this machine or of a private network`);
