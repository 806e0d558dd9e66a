/** Which parts does a URI have (RFC 3986, appendix B), and what do lenient parsers make of its escapes and dots? */

/** The components of a URI. */
export interface UriParts {
  /** The prefixes of gateways: `files+` in `files+file:///x`. */
  readonly lead: string;
  readonly scheme: string;
  /** Undefined if the URI has none, as in `file:/x`. */
  readonly authority: string | undefined;
  readonly path: string;
  /** Query and fragment, with `?` and `#`. */
  readonly tail: string;
}

const PARTS = /^((?:[A-Za-z0-9.-]+\+)*)([A-Za-z][A-Za-z0-9.-]*):(?:\/\/([^/?#]*))?([^?#]*)([?#].*)?$/s;

/** Splits a URI; undefined if it has no scheme. */
export function partsOf(uri: string): UriParts | undefined {
  const [, lead = "", scheme, authority, path = "", tail = ""] = PARTS.exec(uri) ?? [];
  return scheme === undefined ? undefined : { lead, scheme, authority, path, tail };
}

/** The URI of its parts. */
export function uriOf({ lead, scheme, authority, path, tail }: UriParts): string {
  return `${lead}${scheme}:${authority === undefined ? "" : `//${authority}`}${path}${tail}`;
}

/** Whether it is a "special scheme" of the WHATWG URL standard, without `file`. */
export const isWebScheme = (scheme: string): boolean => /^(?:https?|wss?|ftp)$/i.test(scheme);

const DOTS = /(?:^|\/)(?:\.|%2e){1,2}(?=\/|$)/i;

/** Whether a path has dot segments, percent-encoded or not. */
export const hasDots = (path: string): boolean => DOTS.test(path);

const HERE = /^(?:\.|%2e)$/i;
const ABOVE = /^(?:\.|%2e){2}$/i;

/**
 * The path without dot segments (RFC 3986, 5.2.4); `..` at the root is dropped.
 * @param escaped whether `%2e` counts as a dot, as in the WHATWG URL standard
 */
export function withoutDots(path: string, escaped: boolean): string {
  const kept: string[] = [];
  const segments = path.split("/");
  const rooted = segments[0] === "" && segments.length > 1;
  for (const [at, segment] of segments.entries()) {
    if (rooted && at === 0) continue;
    const above = escaped ? ABOVE.test(segment) : segment === "..";
    if (above) kept.pop();
    else if (!(escaped ? HERE.test(segment) : segment === ".")) {
      kept.push(segment);
      continue;
    }
    if (at === segments.length - 1) kept.push("");
  }
  return (rooted ? "/" : "") + kept.join("/");
}

/** The path with repeated slashes collapsed, as file systems read it. */
export const withoutEmpty = (path: string): string => path.replace(/\/{2,}/g, "/");

/** The path without trailing dots and spaces in its segments, as Windows reads file names. */
export const withoutTrailingDots = (path: string): string =>
  path
    .split("/")
    .map((segment) => {
      let end = segment.length;
      while (end > 0 && (segment[end - 1] === "." || segment[end - 1] === " ")) end -= 1;
      return end === 0 ? segment : segment.slice(0, end);
    })
    .join("/");

/** One escape, or several in a row; `%u0063` is the form of JavaScript's old `unescape`. */
const ESCAPES = /(?:%[0-9a-f]{2})+/gi;
const WIDE_ESCAPE = /%u([0-9a-f]{4})/gi;

/** `text` decoded once; invalid escapes are left unchanged. Bytes that are no UTF-8 become U+FFFD, as in Node, Python and browsers. */
export function decodeOnce(text: string): string {
  return text.includes("%") ? text.replace(ESCAPES, (run) => bytesOf(run).toString("utf8")) : text;
}

/**
 * All results of decoding `text` once: in UTF-8; in UTF-8 with invalid bytes dropped, or with overlong forms accepted;
 * in Latin-1; with `%uXXXX` escapes. Nearly always that is one text.
 */
export function decodings(text: string): readonly string[] {
  if (!text.includes("%")) return NONE;
  const decoded = decodeOnce(text);
  const found = [decoded];
  if (decoded.includes("\uFFFD")) {
    found.push(
      decoded.replaceAll("\uFFFD", ""),
      text.replace(ESCAPES, (run) => decodeOverlong(bytesOf(run))),
      text.replace(ESCAPES, (run) => bytesOf(run).toString("latin1")),
    );
  }
  if (/%u[0-9a-f]{4}/i.test(text)) {
    found.push(
      text.replace(WIDE_ESCAPE, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    );
  }
  return found;
}

const NONE: readonly string[] = [];
const bytesOf = (run: string): Buffer => Buffer.from(run.replaceAll("%", ""), "hex");

/** UTF-8 as decoders before RFC 3629 accepted it: `C0 AE` is a full stop. */
function decodeOverlong(bytes: Buffer): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const [length, code] = overlongAt(bytes, at);
    if (length === 0) {
      at += 1;
      continue;
    }
    parts.push(bytes.toString("utf8", from, at), String.fromCodePoint(code));
    at += length;
    from = at;
  }
  return parts.join("") + bytes.toString("utf8", from);
}

/** Length and code point of the overlong form that begins at `at`; a length of 0 if none does. */
function overlongAt(bytes: Buffer, at: number): readonly [length: number, code: number] {
  const first = bytes[at] ?? 0;
  const length = first === 0xc0 || first === 0xc1 ? 2 : first === 0xe0 ? 3 : first === 0xf0 ? 4 : 0;
  if (length === 0) return [0, 0];
  let code = length === 2 ? first & 1 : 0;
  for (let next = 1; next < length; next += 1) {
    const byte = bytes[at + next] ?? 0;
    if ((byte & 0xc0) !== 0x80) return [0, 0];
    code = (code << 6) | (byte & 0x3f);
  }
  const least = length === 2 ? 0x80 : length === 3 ? 0x800 : 0x1_0000;
  return code < least ? [length, code] : [0, 0];
}
