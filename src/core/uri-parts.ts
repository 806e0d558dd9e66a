/** Which parts does a URI have (RFC 3986, appendix B), and what is its path without dot segments and empty segments? */

/** The components of a URI. */
export interface UriParts {
  /** The prefixes of gateways: `files+` in `files+file:///x`. */
  readonly lead: string;
  readonly scheme: string;
  /** Undefined where the URI has none, as in `file:/x`. */
  readonly authority: string | undefined;
  readonly path: string;
  /** Query and fragment, with `?` and `#`. */
  readonly tail: string;
}

const PARTS = /^((?:[A-Za-z0-9.-]+\+)*)([A-Za-z][A-Za-z0-9.-]*):(?:\/\/([^/?#]*))?([^?#]*)([?#].*)?$/s;

/** Splits a URI; undefined where it has no scheme. */
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
