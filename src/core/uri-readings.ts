/** What servers may make of a URI: every way in which their readers take it, in the form in which rules are written. */
import { decodeOnce, decodings } from "./percent-decoding.js";
import {
  hasDots,
  isWebScheme,
  partsOf,
  type UriParts,
  uriOf,
  withoutDots,
  withoutEmpty,
  withoutTrailingDots,
} from "./uri-parts.js";

export interface UriReadings {
  /**
   * The URI as it is written, then everything else that readers may act on. What allows a URI must allow each of
   * these; what restricts it need match one.
   */
  readonly all: readonly string[];
  /**
   * More ways to write the same, for what restricts: as WHATWG escapes it, with a host in lower case under a scheme
   * that knows no hosts, with two slashes where it has one or three.
   */
  readonly alike: readonly string[];
  /** False where there are more than MOST_READINGS: then nobody can tell what a reader makes of it. */
  readonly complete: boolean;
}

/** No URI that is meant to be read has so many. */
const MAX_READINGS = 64;
/** Characters in all readings together, which bounds the work. */
const MAX_CHARACTERS = 65_536;

/**
 * Path segments that do not end with a full stop, of characters that nobody escapes; a host without a port. What is of the
 * web, or a page, is not shown under `files+`: there it is another way to write something else (`addPrefixReadings`).
 */
const PLAIN =
  /^(?!(?:ui|skill):\/\/[^/]*\/[^/]*[@:])(?:[a-z0-9-]+\+(?!https?:|ui:|skill:))*(?:file:\/\/(?!\/[A-Za-z]:)|(?!file:)[a-z][a-z0-9.-]*:\/\/[a-z_-][a-z0-9_-]*(?:\.[a-z_-][a-z0-9_-]*)*(?=\/))(?:\/[\w~!$&'()*,=:@.-]*[\w~!$&'()*,=:@-])+$/;

/** Whether a URI has but one reading; told quickly, and true of most. */
export const hasSingleReading = (uri: string): boolean => PLAIN.test(uri);

let last: { readonly uri: string; readonly readings: UriReadings } | undefined;

/**
 * The closure of `uri` under what readers do: WHATWG (`new URL`), RFC 3986, percent-decoding without an end, slashes,
 * hosts and queries that are ignored. Time and size are linear in its length. A URI may carry the prefix under which
 * a gateway shows it (`files+file:///x`), and so do its readings then.
 */
export function readingsOf(uri: string): UriReadings {
  if (hasSingleReading(uri)) return { all: [uri], alike: [], complete: true };
  // Filters, rules and limits look at the same call one after the other.
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

/** `uris` with everything that can be made of them. */
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
  // A set hands out what is added to it while it is walked.
  for (const reading of found) {
    if (!complete) break;
    addReadings(reading, add);
  }
  return { found, complete };
}

/** Every single step that a reader may take from here. */
function addReadings(uri: string, add: Add): void {
  add(stripped(uri));
  for (const decoded of decodings(uri)) add(decoded);
  if (uri.includes("\\")) add(uri.replaceAll("\\", "/"));
  // A reader in C ends at NUL; one of files knows no query.
  cutAt(uri, uri.indexOf("\0"), add);
  cutAt(uri, uri.indexOf("#"), add);
  cutAt(uri, uri.search(/[?#]/), add);
  const parts = partsOf(uri);
  if (parts === undefined) return;
  const { lead, scheme } = parts;
  add(uriOf({ ...parts, lead: lead.toLowerCase(), scheme: scheme.toLowerCase() }));
  const parsed = parseWhatwg(parts);
  // It only adds a slash where there is no path.
  if (parsed !== undefined && parts.path !== "") add(lead + decodeOnce(parsed.href));
  addPrefixReadings(parts, add);
  addHostReadings(parts, parsed, add);
  addPathReadings(parts, add);
}

/** What turns out to be of the web, or a page, is shown otherwise than under `files+` (catalog/uri-namespace.ts). */
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

/** As a URL stands in running text (RFC 3986, appendix C): Python's urllib unwraps it, and Java takes `url:` off. */
const WRAPPED = /^<?(?:url:)?(.*?)>?$/is;

/** What only some readers make of a URI, so that it counts for what restricts alone; each is to be read on. */
function looseReadings(uri: string): readonly string[] {
  const lead = leadOf(uri);
  const own = uri.slice(lead.length);
  const guesses: string[] = [];
  const guess = (other: string): void => {
    if (other !== own) guesses.push(lead + other);
  };
  guess(own.replace(WRAPPED, "$1"));
  // Some file systems know no difference between letters that look alike, or take wide ones for those of ASCII.
  if (/[^\0-\x7f]/.test(own)) guess(own.normalize("NFKC"));
  // Some readers take what has no scheme for a file.
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

/** WHATWG takes tabs and line breaks out wherever they stand, and blanks and controls from both ends. */
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

/** Hosts that are ignored, taken for the first part of a path, or the same as another. */
function addHostReadings(parts: UriParts, parsed: URL | undefined, add: Add): void {
  const { scheme, authority, path } = parts;
  if (/^file$/i.test(scheme)) {
    const rooted = path.startsWith("/") ? path : `/${path}`;
    add(uriOf({ ...parts, authority: "", path: rooted }));
    if (authority) add(uriOf({ ...parts, authority: "", path: `/${authority}${path}` }));
    // On Windows several slashes are followed by the name of a machine.
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
    // Who asks a URL for its `hostname` hears of no port.
    add(uriOf({ ...parts, authority: host.replace(PORT, "") }));
    return;
  }
  // The path stays as it is written, where `href` escapes it anew.
  if (parsed !== undefined) add(uriOf({ ...parts, authority: authority.slice(0, at + 1) + parsed.host }));
  if (host.endsWith(".")) add(uriOf({ ...parts, authority: authority.slice(0, -1) }));
}

function addPathReadings(parts: UriParts, add: Add): void {
  const { scheme, authority, path, tail } = parts;
  const web = isWebScheme(scheme);
  // `ui://S/user@host:1/path`: the server's own host stands behind the server.
  const own = keepsScheme(scheme) ? /^\/(?:[^/@]*@)?([^/@:]*)(?::\d*)?(\/.*)?$/s.exec(path) : null;
  if (own !== null) add(uriOf({ ...parts, path: `/${own[1] ?? ""}${own[2] ?? ""}` }));
  if (path.includes("//")) add(uriOf({ ...parts, path: withoutEmpty(path) }));
  if (path.includes(";")) add(uriOf({ ...parts, path: path.replace(/;[^/]*/g, "") }));
  // A reader that cuts the scheme off and takes the rest for a path knows neither hosts nor queries.
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
    // `ui://S/host/path`: the server stands before the host of its own URI.
    const kept = keepsScheme(scheme) ? /^(\/[^/]*)(\/.*)$/s.exec(path) : null;
    if (kept !== null)
      add(uriOf({ ...parts, path: `${kept[1] ?? ""}${withoutDots(kept[2] ?? "", escaped)}` }));
  }
}

/** Other ways to write a reading, which no server takes for anything else. */
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
