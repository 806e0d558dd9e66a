/** Which URIs may a server read in place of a given one? All results of the parsers in use, for policy to check. */
import {
  decodeOnce,
  decodings,
  hasDots,
  isWebScheme,
  partsOf,
  type UriParts,
  uriOf,
  withoutDots,
  withoutEmpty,
  withoutTrailingDots,
} from "./uri-parts.js";

/** The URIs that parsers may read a URI as. */
export interface UriReadings {
  /**
   * The URI itself, then every other reading. An allow rule must match all of them; a restricting rule applies when
   * one matches.
   */
  readonly all: readonly string[];
  /**
   * Other spellings, for restricting rules only: as WHATWG escapes it, with a lower-case host under a scheme without
   * hosts, with two slashes where it has one or three.
   */
  readonly alike: readonly string[];
  /** False if there are more than MAX_READINGS: policy then treats the URI as unreadable. */
  readonly complete: boolean;
}

/** More readings than any legitimate URI has. */
const MAX_READINGS = 64;
/** Characters of all readings together; bounds the work. */
const MAX_CHARACTERS = 65_536;

/**
 * Matches URIs with one reading: path segments of unreserved characters that do not end with a dot, and a host without a
 * port. Web, `ui:` and `skill:` URIs are not exposed under `files+`; there they are other spellings (`addPrefixReadings`).
 */
const PLAIN =
  /^(?!(?:ui|skill):\/\/[^/]*\/[^/]*[@:])(?:[a-z0-9-]+\+(?!https?:|ui:|skill:))*(?:file:\/\/(?!\/[A-Za-z]:)|(?!file:)[a-z][a-z0-9.-]*:\/\/[a-z_-][a-z0-9_-]*(?:\.[a-z_-][a-z0-9_-]*)*(?=\/))(?:\/[\w~!$&'()*,=:@.-]*[\w~!$&'()*,=:@-])+$/;

/** Whether a URI has one reading only; a fast check, true for most. */
export const hasSingleReading = (uri: string): boolean => PLAIN.test(uri);

/** The last result of a pure function: no gateway sees another's in it. */
let last: { readonly uri: string; readonly readings: UriReadings } | undefined;

/**
 * All readings of `uri`: by WHATWG (`new URL`), by RFC 3986, percent-decoded any number of times, with collapsed slashes,
 * with hosts and queries ignored. Time and size are linear in its length. A URI may have the prefix under which the
 * gateway exposes it (`files+file:///x`); its readings keep the prefix.
 */
export function readingsOf(uri: string): UriReadings {
  if (hasSingleReading(uri)) return { all: [uri], alike: [], complete: true };
  // Filters, rules and limits ask for the same URI in a row.
  if (last?.uri === uri) return last.readings;
  const readings = closure(uri);
  last = { uri, readings };
  return readings;
}

function closure(uri: string): UriReadings {
  const { found, complete } = closureOf([uri]);
  const guesses = closureOf([...found].flatMap(looseReadings));
  const alike = new Set(guesses.found);
  for (const reading of [...found, ...guesses.found]) for (const other of alikeOf(reading)) alike.add(other);
  for (const reading of found) alike.delete(reading);
  return { all: [...found], alike: [...alike], complete: complete && guesses.complete };
}

/** `uris` and all URIs that repeated reading leads to. */
function closureOf(uris: readonly string[]): {
  readonly found: ReadonlySet<string>;
  readonly complete: boolean;
} {
  const found = new Set(uris);
  let characters = uris.reduce((sum, { length }) => sum + length, 0);
  let complete = characters * 2 <= MAX_CHARACTERS;
  const add = (reading: string): void => {
    if (found.has(reading)) return;
    characters += reading.length;
    if (found.size >= MAX_READINGS || characters > MAX_CHARACTERS) complete = false;
    else found.add(reading);
  };
  // Iterating a Set visits members added meanwhile.
  for (const reading of found) {
    if (!complete) break;
    addReadings(reading, add);
  }
  return { found, complete };
}

/** Adds the results of every single transformation that a parser may apply. */
function addReadings(uri: string, add: Add): void {
  add(stripped(uri));
  for (const decoded of decodings(uri)) add(decoded);
  if (uri.includes("\\")) add(uri.replaceAll("\\", "/"));
  // C strings end at NUL; file readers do not know queries.
  cutAt(uri, uri.indexOf("\0"), add);
  cutAt(uri, uri.indexOf("#"), add);
  cutAt(uri, uri.search(/[?#]/), add);
  const parts = partsOf(uri);
  if (parts === undefined) return;
  const { lead, scheme } = parts;
  add(uriOf({ ...parts, lead: lead.toLowerCase(), scheme: scheme.toLowerCase() }));
  const parsed = parseWhatwg(parts);
  // Without a path WHATWG only adds a slash.
  if (parsed !== undefined && parts.path !== "") add(lead + decodeOnce(parsed.href));
  addPrefixReadings(parts, add);
  addHostReadings(parts, parsed, add);
  addPathReadings(parts, add);
}

/** Web, `ui:` and `skill:` URIs are exposed without `files+` (catalog/naming.ts). */
function addPrefixReadings({ lead, ...own }: UriParts, add: Add): void {
  if (lead === "") return;
  if (isWebScheme(own.scheme)) add(uriOf({ ...own, lead: "" }));
  if (!keepsScheme(own.scheme)) return;
  const { scheme, authority, path, tail } = own;
  add(
    `${scheme}:${authority === undefined ? "" : "//"}${lead.slice(0, -1)}/${authority ?? ""}${path}${tail}`,
  );
}

const keepsScheme = (scheme: string): boolean => /^(?:ui|skill)$/i.test(scheme);

type Add = (reading: string) => void;

const leadOf = (uri: string): string => /^(?:[a-z0-9-]+\+)*/.exec(uri)?.[0] ?? "";

/** A URL in running text (RFC 3986, appendix C): Python's urllib unwraps `<…>`, Java strips `url:`. */
const WRAPPED = /^<?(?:url:)?(.*?)>?$/is;

/** Readings of a few parsers only, which count for restricting rules alone; each is read further. */
function looseReadings(uri: string): readonly string[] {
  const lead = leadOf(uri);
  const own = uri.slice(lead.length);
  const guesses: string[] = [];
  const guess = (other: string): void => {
    if (other !== own) guesses.push(lead + other);
  };
  guess(own.replace(WRAPPED, "$1"));
  // Some file systems normalize Unicode.
  if (/[^\0-\x7f]/.test(own)) guess(own.normalize("NFKC"));
  // Without a scheme some parsers assume `file:`.
  if (partsOf(uri) === undefined) guess(`file://${own.startsWith("/") ? "" : "/"}${own}`);
  // On Windows: a drive in either case, and `\\?\C:\x`.
  const [, root = "", drive = "", rest = ""] = /^(file:\/\/)(?:\/+[?.])?\/([a-z])(:.*)$/is.exec(own) ?? [];
  if (drive !== "")
    for (const either of [drive.toLowerCase(), drive.toUpperCase()]) guess(`${root}/${either}${rest}`);
  return guesses;
}

function cutAt(uri: string, at: number, add: Add): void {
  if (at >= 0) add(uri.slice(0, at));
}

/** WHATWG removes tabs and line breaks everywhere, and spaces and controls at both ends. */
function stripped(uri: string): string {
  const lead = leadOf(uri);
  let from = lead.length;
  let to = uri.length;
  while (from < to && uri.charCodeAt(from) <= 0x20) from += 1;
  while (to > from && uri.charCodeAt(to - 1) <= 0x20) to -= 1;
  return lead + uri.slice(from, to).replace(/[\t\n\r]+/g, "");
}

function parseWhatwg({ lead: _, ...own }: UriParts): URL | undefined {
  const text = uriOf({ lead: "", ...own });
  return URL.canParse(text) ? new URL(text) : undefined;
}

const PORT = /:\d*$/;

/** Readings with another host: ignored, read as a path segment, or normalized. */
function addHostReadings(parts: UriParts, parsed: URL | undefined, add: Add): void {
  const { scheme, authority, path } = parts;
  if (/^file$/i.test(scheme)) {
    const rooted = path.startsWith("/") ? path : `/${path}`;
    add(uriOf({ ...parts, authority: "", path: rooted }));
    if (authority) add(uriOf({ ...parts, authority: "", path: `/${authority}${path}` }));
    // On Windows the name of a machine follows several slashes (UNC).
    const [, machine, share = ""] = /^\/\/+([^/]+)(\/.*)$/s.exec(path) ?? [];
    if (machine !== undefined) add(uriOf({ ...parts, authority: machine, path: share }));
    add(uriOf({ ...parts, path: withoutTrailingDots(path) }));
    return;
  }
  if (authority === undefined) return;
  const at = authority.lastIndexOf("@");
  const host = authority.slice(at + 1);
  if (at >= 0) add(uriOf({ ...parts, authority: host }));
  if (!isWebScheme(scheme)) {
    // `URL.hostname` has no port.
    add(uriOf({ ...parts, authority: host.replace(PORT, "") }));
    return;
  }
  // Keeps the path as written; `href` would re-escape it.
  if (parsed !== undefined) add(uriOf({ ...parts, authority: authority.slice(0, at + 1) + parsed.host }));
  if (host.endsWith(".")) add(uriOf({ ...parts, authority: authority.slice(0, -1) }));
}

function addPathReadings(parts: UriParts, add: Add): void {
  const { scheme, authority, path, tail } = parts;
  const web = isWebScheme(scheme);
  // `ui://S/user@host:1/path`: the host of the server's own URI follows the server.
  const own = keepsScheme(scheme) ? /^\/(?:[^/@]*@)?([^/@:]*)(?::\d*)?(\/.*)?$/s.exec(path) : null;
  if (own !== null) add(uriOf({ ...parts, path: `/${own[1] ?? ""}${own[2] ?? ""}` }));
  if (path.includes("//")) add(uriOf({ ...parts, path: withoutEmpty(path) }));
  if (path.includes(";")) add(uriOf({ ...parts, path: path.replace(/;[^/]*/g, "") }));
  // A parser that strips the scheme and reads the rest as a path knows neither hosts nor queries.
  const rest = path + tail;
  if (tail.includes("//")) add(uriOf({ ...parts, path: withoutEmpty(rest), tail: "" }));
  if (!hasDots(rest)) return;
  for (const escaped of [false, true]) {
    add(uriOf({ ...parts, path: withoutDots(path, escaped) }));
    if (tail !== "") add(uriOf({ ...parts, path: withoutDots(rest, escaped), tail: "" }));
    if (authority && !web) {
      add(uriOf({ ...parts, authority: "", path: withoutDots(authority + path, escaped) }));
      add(uriOf({ ...parts, authority: "", path: withoutDots(authority + rest, escaped), tail: "" }));
    }
    // `ui://S/host/path`: the server precedes the host of its own URI.
    const kept = keepsScheme(scheme) ? /^(\/[^/]*)(\/.*)$/s.exec(path) : null;
    if (kept !== null)
      add(uriOf({ ...parts, path: `${kept[1] ?? ""}${withoutDots(kept[2] ?? "", escaped)}` }));
  }
}

/** Other spellings of a reading, which no parser reads differently. */
function alikeOf(uri: string): readonly string[] {
  const parts = partsOf(uri);
  if (parts === undefined) return [];
  const { lead, scheme, authority, path } = parts;
  const found: string[] = [];
  const parsed = parseWhatwg(parts);
  if (parsed !== undefined) found.push(lead + parsed.href);
  if (path.length > 1 && path.endsWith("/")) found.push(uriOf({ ...parts, path: path.slice(0, -1) }));
  if (/^file$/i.test(scheme) || isWebScheme(scheme)) return found;
  if (authority) {
    const host = parseWhatwg({ ...parts, lead: "", scheme: "http", path: "/", tail: "" })?.host ?? authority;
    found.push(uriOf({ ...parts, authority: host.toLowerCase().replace(/\.$/, "") }));
  } else found.push(uriOf({ ...parts, authority: "", path: path.replace(/^\/+/, "") }));
  return found;
}
