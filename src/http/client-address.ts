/** From which address does a request come, where proxies that the config trusts stand in front of the gateway? */
import type { IncomingMessage } from "node:http";
import { BlockList } from "node:net";
import { type AddressRange, canonicalAddress } from "./address-ranges.js";

/** What of a request is read. */
export type AddressedRequest = Pick<IncomingMessage, "headers"> & {
  readonly socket?: Pick<IncomingMessage["socket"], "remoteAddress">;
};

/** The canonical address of the client; undefined where the connection has none. */
export type ClientAddress = (request: AddressedRequest) => string | undefined;

/**
 * Finds the client behind the proxies of `trusted`: the right-most address of `X-Forwarded-For` or `Forwarded` that is not
 * one of theirs. A header from any other peer is ignored. What a proxy has not written as an address ends the search at
 * that proxy, and so do two headers that disagree: a proxy adds to one of them, and passes the other one on from the client.
 */
export function clientAddress(trusted: readonly AddressRange[] = []): ClientAddress {
  if (trusted.length === 0) return peerOf;
  const proxies = new BlockList();
  for (const { address, prefix, family } of trusted) proxies.addSubnet(address, prefix, family);
  const isProxy = (address: string): boolean =>
    proxies.check(address, address.includes(":") ? "ipv6" : "ipv4");
  const origin = (peer: string, hops: readonly string[]): string => {
    let found = peer;
    for (const hop of hops.toReversed()) {
      const address = addressOfHop(hop);
      if (!isProxy(found) || address === undefined) break;
      found = address;
    }
    return found;
  };
  return (request) => {
    const peer = peerOf(request);
    if (peer === undefined || !isProxy(peer)) return peer;
    const listed = headerOf(request, "x-forwarded-for");
    const forwarded = headerOf(request, "forwarded");
    const byList = listed === undefined ? undefined : origin(peer, listed.split(","));
    const byForwarded = forwarded === undefined ? undefined : origin(peer, forwardedFor(forwarded));
    if (byList !== undefined && byForwarded !== undefined && byList !== byForwarded) return peer;
    return byList ?? byForwarded ?? peer;
  };
}

/** The address of the connection, without a look at headers. */
export const peerOf: ClientAddress = ({ socket }) =>
  socket?.remoteAddress === undefined
    ? undefined
    : (canonicalAddress(socket.remoteAddress) ?? socket.remoteAddress);

/** By what clients are counted: an IPv6 network of 64 bits is one subscriber's (RFC 6177). */
export function networkOf(address: string | undefined): string {
  if (address === undefined || !address.includes(":")) return address ?? "";
  const [head = "", tail] = address.split("::");
  const groups = (text: string): readonly string[] => (text === "" ? [] : text.split(":"));
  const [first, last] = [groups(head), groups(tail ?? "")];
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  const all = [...first, ...Array.from({ length: zeros }, () => "0"), ...last];
  return `${all.slice(0, 4).join(":")}::/64`;
}

function headerOf({ headers }: AddressedRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : value?.join(",");
}

/** `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]` or `[::1]:80`; undefined for anything else, such as `unknown`. */
function addressOfHop(hop: string): string | undefined {
  const text = hop.trim();
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? [];
  const address = bracketed ?? plain ?? text;
  // The zone of a link-local address means nothing on another machine.
  return address.includes("%") ? undefined : canonicalAddress(address);
}

/** One parameter of `Forwarded` (RFC 7239, 4), or the comma between two hops. */
const FORWARDED = /\s*(?:([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*))|(,)|;)\s*/gy;

/** The `for` of each hop, left to right; "" where a hop has none, or from where on the header is malformed. */
function forwardedFor(header: string): readonly string[] {
  const hops = [""];
  let read = 0;
  for (const [part, name, quoted, token, comma] of header.matchAll(FORWARDED)) {
    read += part.length;
    if (comma !== undefined) hops.push("");
    else if (name?.toLowerCase() === "for")
      hops[hops.length - 1] = quoted?.replace(/\\(.)/g, "$1") ?? token ?? "";
  }
  return read === header.length ? hops : [""];
}
