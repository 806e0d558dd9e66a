/** Hostile URIs, made from plain ones. */
import fc from "./fast-check.js";

/** What a URI is about before it is mangled. */
export const PATHS = [
  "/secret/x",
  "/pub/a.md",
  "/pub/sub/b.md",
  "/pub/secret/k",
  "/etc/passwd",
  "/secret/deep/y",
];

const STARTS = [
  ...["file://", "file://", "file://", "file:", "FILE://", "fIle:", "file:/", "file:///", "file:////"],
  ...["file://localhost", "file://LOCALHOST", "file://127.0.0.1", "file://evil", "file://u:p@localhost:80"],
  ...[
    "file:\\\\",
    "file:/\\",
    "file://localhost.",
    "file://pub",
    "file://pub/..",
    "file://.",
    "file:///C:",
    "",
  ],
  ...[
    " file://",
    "\tfile://",
    "\u0000file://",
    "fi\nle://",
    "f%69le://",
    "file:%2f%2f",
    "file:.",
    "file://%2e",
  ],
];

type Mangle = (path: string, at: number) => string;

const percent = (character: string): string =>
  [...Buffer.from(character, "utf8")].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");

/** `text` with one character, the one at `at` or what follows a slash there, replaced. */
const replacedAt = (text: string, at: number, by: (character: string) => string): string => {
  const where = at % Math.max(1, text.length);
  return text.slice(0, where) + by(text.charAt(where)) + text.slice(where + 1);
};

/** What is put behind one of the slashes. */
const inserted =
  (what: string): Mangle =>
  (path, at) => {
    const slashes = [...path.matchAll(/\//g)].map(({ index }) => index + 1);
    const where = slashes[at % Math.max(1, slashes.length)] ?? 0;
    return path.slice(0, where) + what + path.slice(where);
  };

const overlong = (character: string): string => {
  const code = character.charCodeAt(0) & 0x7f;
  return `%c${(code >> 6).toString(16)}%${(0x80 | (code & 0x3f)).toString(16)}`;
};

const MANGLES: readonly Mangle[] = [
  (path, at) => replacedAt(path, at, percent),
  (path, at) => replacedAt(path, at, percent),
  (path, at) => replacedAt(path, at, (character) => percent(character).toUpperCase()),
  (path, at) => replacedAt(path, at, (character) => percent(character).replaceAll("%", "%25")),
  (path, at) => replacedAt(path, at, (character) => `%u00${percent(character).slice(1)}`),
  (path, at) => replacedAt(path, at, overlong),
  (path) => path.replaceAll("/", "//"),
  (path) => path.replaceAll("/", "\\"),
  (path) => path.replaceAll("/", "%2f"),
  (path) => path.replaceAll("%", "%25"),
  (path) => [...path].map(percent).join(""),
  (path) => path.replaceAll(".", "%2e"),
  ...[
    "../",
    "./",
    "x/../",
    "pub/../",
    "%2e%2e/",
    "%2E./",
    "..%2f",
    "..\\",
    "%2e%2e%5c",
    "..;/",
    "%252e%252e/",
  ].map(inserted),
  ...[
    "/",
    "\\",
    "\t",
    "\n",
    "\r\n",
    " ",
    "%09",
    "%0a",
    "%20",
    "%00",
    "\u0000",
    "%",
    "%zz",
    "%f",
    "%ff",
    "é",
    "%c3%a9",
  ].map(inserted),
  ...[
    "?x=1",
    "#y",
    "?/../../secret/x",
    "#/../../secret/x",
    "?.md",
    "#.md",
    "%3f.md",
    "%23.md",
    ";v=1",
    "%00.md",
    "\u0000.md",
  ].map(
    (end): Mangle =>
      (path) =>
        path + end,
  ),
  ...[".", " ", "%20", "/", "/.", "/..", "/%2e", "%2f..%2f..%2fsecret%2fx", "/../../secret/x", "%", "%2"].map(
    (end): Mangle =>
      (path) =>
        path + end,
  ),
  (path) => `/..${path}`,
  (path) => `/pub/..${path}`,
  (path) => `/pub/%2e%2e${path}`,
  (path) => `/pub/%252e%252e${path}`,
  (path) => `/pub/x%2f..%2f..${path}`,
];

/** A URI of a file, as a server itself would have it: no prefix of the gateway before it. */
export const fileUris: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom(...STARTS),
    fc.constantFrom(...PATHS),
    fc.array(fc.tuple(fc.constantFrom(...MANGLES), fc.nat(40)), { maxLength: 4 }),
  )
  .map(([start, path, mangles]) => start + mangles.reduce((text, [mangle, at]) => mangle(text, at), path));

const HOSTS = [
  ...[
    "good.test",
    "good.test",
    "evil.test",
    "EVIL.test",
    "evil.test.",
    "evil%2etest",
    "ｅvil.test",
    "evil。test",
  ],
  ...["127.0.0.1", "0x7f.1", "2130706433", "127.1", "0177.0.0.1", "①②⑦.0.0.1", "127.0.0.1.", "ev\til.test"],
];
const BEFORE_HOST = [
  "//",
  "//",
  "//",
  "//user@",
  "//good.test@",
  "//u:p@",
  "/",
  "",
  "///",
  "\\\\",
  "//good.test\\@",
];
const PORTS = ["", "", "", ":80", ":443", ":", ":00080"];

export const webUris: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom("http:", "https:", "HTTP:", " http:", "ht\ntp:"),
    fc.constantFrom(...BEFORE_HOST),
    fc.constantFrom(...HOSTS),
    fc.constantFrom(...PORTS),
    fc.constantFrom(...PATHS),
    fc.array(fc.tuple(fc.constantFrom(...MANGLES), fc.nat(40)), { maxLength: 3 }),
  )
  .map(
    ([scheme, before, host, port, path, mangles]) =>
      scheme + before + host + port + mangles.reduce((text, [mangle, at]) => mangle(text, at), path),
  );

export interface UriRequest {
  /** Which door of the gateway, and under what prefix. */
  readonly to: string;
  readonly method: string;
  readonly uri: string;
}

const METHODS = [
  ...["resources/read", "resources/read", "resources/read", "resources/read", "completion/complete"],
  ...["resources/subscribe", "resources/directory/read", "skills/get", "ext/run"],
];

/** `doors`: where files are read; `web`: where addresses are. */
export const uriRequests = (doors: readonly string[], web: string): fc.Arbitrary<UriRequest> => {
  const method = fc.constantFrom(...METHODS);
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ to: fc.constantFrom(...doors), method, uri: fileUris }) },
    { weight: 2, arbitrary: fc.record({ to: fc.constant(web), method, uri: webUris }) },
  );
};
