/** Secrets of any length: private keys, JSON Web Tokens, and the passwords in addresses. */
import { matchAt, placesOf, type Span, startsToken, type Window } from "./detector.js";

const KEY_BEGIN = /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g;
const KEY_END = "-----END ";
/** Lines of Base64 and of headers, also where the line breaks are written as `\n`. */
const KEY_LINES = /[A-Za-z0-9+/=\s\\:,]*/y;
/** The longest key that is taken as a whole, in characters. */
const LONGEST_KEY = 65_536;

/** Private keys in the form of PEM, from the first to the last line; without a last line as far as it looks like one. */
export function* privateKeys(window: Window): Generator<Span> {
  const { text, to } = window;
  for (const start of placesOf(KEY_BEGIN, window)) {
    const body = text.indexOf("-----", start + 5) + 5;
    const dashes = text.slice(body, to + LONGEST_KEY).indexOf("-----");
    const last = body + dashes;
    const isWhole = dashes >= 0 && text.startsWith(KEY_END, last);
    const close = isWhole ? text.slice(last, last + 64).indexOf("-----", KEY_END.length) : -1;
    const lines = close >= 0 ? 0 : (matchAt(KEY_LINES, text, body)?.[0].trimEnd().length ?? 0);
    yield { start, end: close >= 0 ? last + close + 5 : body + lines };
  }
}

const TOKEN_BEGIN = /eyJ[A-Za-z0-9_-]/g;
/** What may stand in a part of it. */
const TOKEN_PART = /[A-Za-z0-9_-]/;
const TOKEN =
  /eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]{16,}){3}/y;

/** Signed and encrypted tokens (RFC 7515, RFC 7516) in their compact form. */
export function* webTokens(window: Window): Generator<Span> {
  const { text } = window;
  for (const start of placesOf(TOKEN_BEGIN, window)) {
    // No part is read more often than there are parts before it.
    if (start > 0 && TOKEN_PART.test(text.charAt(start - 1)) && !isEscaped(text, start)) continue;
    const match = matchAt(TOKEN, text, start);
    if (match !== undefined) yield { start, end: start + match[0].length };
  }
}

const isEscaped = (text: string, at: number): boolean =>
  !/[_-]/.test(text.charAt(at - 1)) && startsToken(text, at);

/** Of what stands before a password, in characters. */
const LONGEST_ADDRESS = 132;
const ADDRESS = /:\/\/[^\s/?#:@"'<>]{0,128}:/g;
const PASSWORD = /[^\s/@"'<>]{3,256}(?=@[A-Za-z0-9[])/y;
/** Words of examples: `user:password@host`. */
const PLACEHOLDER = /^(?:[$%{<[(]|\*{2,}|x{3,}$|(?:your[_-]?)?pass(?:word|wd)?$|pwd$|secret$|token$)/i;

/** The passwords of addresses such as `postgres://user:password@host`. */
export function* addressPasswords(window: Window): Generator<Span> {
  const { text } = window;
  for (const at of placesOf(ADDRESS, { ...window, from: Math.max(0, window.from - LONGEST_ADDRESS) })) {
    const start = text.indexOf(":", at + 3) + 1;
    if (start < window.from || start >= window.to) continue;
    const match = matchAt(PASSWORD, text, start);
    if (match !== undefined && !PLACEHOLDER.test(match[0])) yield { start, end: start + match[0].length };
  }
}
