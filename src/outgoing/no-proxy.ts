/** Which hosts does `NO_PROXY` except? */
import { BlockList, isIP } from "node:net";

/**
 * Whether an entry of `list` names the host. Entries are separated by commas or white space: `*`; a name, which has the
 * names below it too (`corp.example`, `.corp.example`, `*.corp.example`); an address; a range (`10.0.0.0/8`, compared with
 * addresses only, no name is looked up); each but a range with or without a port.
 *
 * @param host in lower case, an IPv6 address without brackets
 */
export function isExempt(host: string, port: number, list: string): boolean {
  const name = host.replace(/\.$/, "");
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => entry !== "" && isNamedBy(entry, name, port));
}

function isNamedBy(entry: string, host: string, port: number): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return isInRange(host, entry);
  const [name, only] = splitPort(entry);
  if (only !== undefined && only !== port) return false;
  if (isIP(name) !== 0 || isIP(host) !== 0) return isSameAddress(name, host);
  const domain = name.replace(/^\*?\./, "").replace(/\.$/, "");
  return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
}

function splitPort(entry: string): readonly [name: string, port: number | undefined] {
  const [, bracketed, behind] = /^\[([^\]]*)\](?::(\d+))?$/.exec(entry) ?? [];
  if (bracketed !== undefined) return [bracketed, behind === undefined ? undefined : Number(behind)];
  if (isIP(entry) !== 0) return [entry, undefined];
  const [, name = entry, port] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
  return [name, port === undefined ? undefined : Number(port)];
}

function isInRange(host: string, range: string): boolean {
  const [network = "", bits = ""] = range.split("/");
  const family = isIP(network);
  const prefix = Number(bits);
  if (family === 0 || isIP(host) === 0 || !/^\d+$/.test(bits) || prefix > (family === 4 ? 32 : 128))
    return false;
  const addresses = new BlockList();
  addresses.addSubnet(network, prefix, family === 4 ? "ipv4" : "ipv6");
  return addresses.check(host, isIP(host) === 4 ? "ipv4" : "ipv6");
}

function isSameAddress(one: string, other: string): boolean {
  if (isIP(one) === 0 || isIP(other) === 0) return false;
  const addresses = new BlockList();
  addresses.addAddress(one, isIP(one) === 4 ? "ipv4" : "ipv6");
  return addresses.check(other, isIP(other) === 4 ? "ipv4" : "ipv6");
}
