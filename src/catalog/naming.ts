/** Exposed names and URIs, and their owners by prefix or template. */
import { createHash } from "node:crypto";

/** The naming settings of all servers. */
export interface Naming {
  /** Stands between prefix and name. */
  readonly separator: string;
  /** Longer names are truncated and end in a hash. */
  readonly maxLength: number;
  /** Disabled servers; their names stay reserved. */
  readonly reserved?: readonly { readonly name: string; readonly prefix: string }[];
  /** The names of the gateway's own tools, which stay reserved, and the setting that adds them. */
  readonly own?: readonly { readonly names: readonly string[]; readonly setting: string }[];
}

const HASH_LENGTH = 8;

/**
 * The exposed form of `name` of a server with `prefix`, unless that name is taken.
 *
 * A pure function of its arguments: hosts keep these names in prompts, rules and transcripts, so they must
 * be the same on every machine and in every version. With an empty prefix the name is unchanged.
 */
export function exposedName(prefix: string, name: string, naming: Naming): string {
  if (prefix === "") return name;
  const full = prefix + naming.separator + name;
  const clean = cleaned(full);
  return clean.length <= naming.maxLength ? clean : withHash(clean, hashOf(full), naming);
}

/**
 * The name if that one is taken: it ends in a hash of the full name. `attempt` starts at 1; more than one is needed
 * only if two servers have the same full name, such as `a` + `b__c` and `a__b` + `c`.
 */
export function hashedName(prefix: string, name: string, naming: Naming, attempt: number): string {
  const full = prefix === "" ? name : prefix + naming.separator + name;
  const hash = hashOf(attempt === 1 ? full : `${full}\0${attempt}`);
  return withHash(prefix === "" ? name : cleaned(full), hash, naming);
}

/** The prefix of the exposed names of a server, unless truncated. */
export function exposedPrefix(prefix: string, naming: Naming): string {
  return prefix === "" ? "" : cleaned(prefix + naming.separator);
}

/** Hosts and model APIs accept only these characters in a tool name. */
const cleaned = (full: string): string => full.replace(/[^A-Za-z0-9_-]/gu, "_");

function withHash(name: string, hash: string, naming: Naming): string {
  const room = Math.max(0, naming.maxLength - HASH_LENGTH - 1);
  // An unprefixed name may contain any character: never split a surrogate pair.
  return `${name.slice(0, room).replace(/[\uD800-\uDBFF]$/, "")}_${hash}`;
}

/** The first 40 bits of the SHA-256 of the UTF-8 text, as eight digits of RFC 4648 base 32 in lower case. */
function hashOf(text: string): string {
  const digest = createHash("sha256").update(text, "utf8").digest();
  let bits = 0n;
  for (const byte of digest.subarray(0, 5)) bits = (bits << 8n) | BigInt(byte);
  return Array.from(
    { length: HASH_LENGTH },
    (_, digit) => ALPHABET[Number((bits >> BigInt(5 * (HASH_LENGTH - 1 - digit))) & 31n)],
  ).join("");
}

const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

/** The two directions between a server's own URIs (or URI templates) and those that hosts see. */
export interface UriNamespace {
  /** The prefix in URIs. */
  readonly prefix: string;
  expose(own: string): string;
  /** The server's own URI; undefined if `exposed` does not have this server's form. */
  reveal(exposed: string): string | undefined;
}

/** The prefix in URIs: a part of a scheme, where only these characters are allowed. */
export function uriPrefix(prefix: string): string {
  return prefix.toLowerCase().replace(/[^a-z0-9-]/gu, "-");
}

/** Schemes with a meaning for hosts: an app's page must stay `ui:`, so the server follows the scheme. */
const KEPT_SCHEMES = /^((?:ui|skill):(?:\/\/)?)(.*)$/is;

/** Web addresses, which a client may fetch itself; they identify no server and are never rewritten. */
export const isWebAddress = (uri: string): boolean => /^https?:/i.test(uri);

/**
 * The URI space of a server with `prefix`; undefined for an empty prefix, which leaves all URIs unchanged.
 *
 * Templates are mapped the same way: the prefix has no braces, and an expanded template maps to the expansion of the
 * server's own template.
 */
export function uriNamespace(prefix: string): UriNamespace | undefined {
  if (prefix === "") return undefined;
  const name = uriPrefix(prefix);
  const scheme = `${name}+`;
  const folder = `${name}/`;
  return {
    prefix: name,
    expose(own) {
      if (isWebAddress(own)) return own;
      const kept = KEPT_SCHEMES.exec(own);
      return kept === null ? scheme + own : `${kept[1]}${folder}${kept[2]}`;
    },
    reveal(exposed) {
      if (exposed.startsWith(scheme)) return exposed.slice(scheme.length);
      const kept = KEPT_SCHEMES.exec(exposed);
      if (kept?.[2]?.startsWith(folder) === true) return `${kept[1]}${kept[2].slice(folder.length)}`;
      return undefined;
    },
  };
}

/** The URI under which a server shows its resource `own`. */
export const exposeUri = ({ uris }: { readonly uris: UriNamespace | undefined }, own: string): string =>
  uris?.expose(own) ?? own;

/** Whether `uri` is `whole` itself or lies below it (2026-07-28: updates may name a sub-resource). */
export function isSubResource(uri: string, whole: string): boolean {
  if (!uri.startsWith(whole)) return false;
  return uri.length === whole.length || /[/?#]$/.test(whole) || /[/?#]/.test(uri.charAt(whole.length));
}

interface PrefixedServer {
  /** The server's key in the config. */
  readonly name: string;
  readonly prefix: string;
}

interface Owner {
  readonly server: string;
  readonly namePrefix: string;
  readonly uris: UriNamespace | undefined;
}

/** Maps the prefix of a name or URI to its server. */
export class NameOwners {
  /** The longest prefix comes first: `a__b__c` is the name of `a__b`, not of `a`. */
  readonly #owners: readonly Owner[];
  readonly #separator: string;

  /** @param reserved disabled servers; their names stay reserved */
  constructor(servers: readonly PrefixedServer[], reserved: readonly PrefixedServer[], naming: Naming) {
    const owners = new Map<string, Owner>();
    for (const { name: server, prefix } of [...servers, ...reserved]) {
      if (prefix === "") continue;
      const namePrefix = exposedPrefix(prefix, naming);
      if (!owners.has(namePrefix)) owners.set(namePrefix, { server, namePrefix, uris: uriNamespace(prefix) });
    }
    this.#owners = [...owners.values()].sort((a, b) => b.namePrefix.length - a.namePrefix.length);
    this.#separator = naming.separator;
  }

  /** The server whose prefix a tool or prompt name has; undefined if none has it. */
  ofName(name: string): string | undefined {
    return this.ownerOf(name)?.server;
  }

  /** The same, with the prefix. */
  ownerOf(name: string): { readonly server: string; readonly namePrefix: string } | undefined {
    return this.#owners.find(({ namePrefix }) => name.startsWith(namePrefix));
  }

  /** The server whose prefix a URI has; undefined if none has it. */
  ofUri(uri: string): string | undefined {
    return this.#owners.find(({ uris }) => uris?.reveal(uri) !== undefined)?.server;
  }

  /** Whether `name` begins with the prefix of another than `server`. */
  isForeign(server: string, name: string): boolean {
    const owner = this.ofName(name);
    return owner !== undefined && owner !== server;
  }

  /** The same of a URI. */
  isForeignUri(server: string, uri: string): boolean {
    const owner = this.ofUri(uri);
    return owner !== undefined && owner !== server;
  }

  /**
   * A foreign name with another character in place of each separator that makes it so. What allows the names of
   * the server whose prefix it begins with does not allow this one.
   */
  unambiguousName(server: string, name: string): string {
    const instead = this.#separator.startsWith("-") ? "_" : "-";
    let apart = name;
    for (;;) {
      const owner = this.#owners.find(({ namePrefix }) => apart.startsWith(namePrefix));
      if (owner === undefined || owner.server === server) return apart;
      const { length } = owner.namePrefix;
      // A separator less each time.
      apart = apart.slice(0, length - this.#separator.length) + instead + apart.slice(length);
    }
  }
}

export const NO_OWNERS = new NameOwners([], [], { separator: "__", maxLength: 50 });

/**
 * Compares the literal parts only: they must occur in the URI in the template's order, the first at its start and the
 * last at its end. Expressions match any run of characters, including the empty one.
 */
export function couldExpandTo(template: string, uri: string): boolean {
  const pieces = template.split(/\{[^{}]*\}/);
  const [first = "", ...rest] = pieces;
  const last = rest.pop();
  if (last === undefined) return uri === first;
  if (!uri.startsWith(first) || !uri.endsWith(last) || uri.length < first.length + last.length) return false;
  let at = first.length;
  const end = uri.length - last.length;
  for (const piece of rest) {
    // The leftmost match leaves the most room for the rest, so no backtracking is needed.
    const found = uri.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return at <= end;
}
