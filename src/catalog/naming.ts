/** The names under which hosts see the tools and prompts of a server. */
import { createHash } from "node:crypto";

/** One name space for all servers. */
export interface Naming {
  /** Stands between prefix and name. */
  readonly separator: string;
  /** Longer names are cut and end in a hash. */
  readonly maxLength: number;
  /** Servers that the config leaves out; their names stay reserved. */
  readonly reserved?: readonly { readonly name: string; readonly prefix: string }[];
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
 * What to show when that name is taken: it ends in a hash of the full name. `attempt` starts at 1; more than
 * one is needed only when two servers have the very same full name, such as `a` + `b__c` and `a__b` + `c`.
 */
export function hashedName(prefix: string, name: string, naming: Naming, attempt: number): string {
  const full = prefix === "" ? name : prefix + naming.separator + name;
  const hash = hashOf(attempt === 1 ? full : `${full}\0${attempt}`);
  return withHash(prefix === "" ? name : cleaned(full), hash, naming);
}

/** What the exposed names of a server with this prefix begin with, as far as they are not cut before. */
export function exposedPrefix(prefix: string, naming: Naming): string {
  return prefix === "" ? "" : cleaned(prefix + naming.separator);
}

/** Hosts and model APIs accept no other characters in a tool name than these. */
const cleaned = (full: string): string => full.replace(/[^A-Za-z0-9_-]/gu, "_");

function withHash(name: string, hash: string, naming: Naming): string {
  const room = Math.max(0, naming.maxLength - HASH_LENGTH - 1);
  // A name that stays as it is may hold any character: never leave half of one behind.
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
