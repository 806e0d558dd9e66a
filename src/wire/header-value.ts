/**
 * Any string as an HTTP header value and back: plain where it is safe, else `=?base64?…?=`
 * (2026-07-28, basic/transports/streamable-http, "Value Encoding").
 */

const PREFIX = "=?base64?";
const SUFFIX = "?=";

/** The header value that stands for `value`; decoding it gives exactly `value` back. */
export function encodeHeaderValue(value: string): string {
  if (isPlain(value) && !looksEncoded(value)) return value;
  return `${PREFIX}${Buffer.from(value, "utf8").toString("base64")}${SUFFIX}`;
}

/**
 * The string that a header value stands for; white space around it is not part of it (RFC 9110, 5.5).
 * `undefined` when it holds characters that no header value may hold, or claims to be Base64 and is not the
 * Base64 of UTF-8 text.
 */
export function decodeHeaderValue(header: string): string | undefined {
  const value = trimSpace(header);
  if (!isPlain(value)) return undefined;
  if (!looksEncoded(value)) return value;
  const encoded = value.slice(PREFIX.length, -SUFFIX.length);
  const bytes = Buffer.from(encoded, "base64");
  // Node skips over what is not Base64 and does without padding; only what encodes back to itself was meant
  // (the test-case table of SEP-2243 refuses both).
  if (bytes.toString("base64") !== encoded) return undefined;
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : undefined;
}

function looksEncoded(value: string): boolean {
  return value.length >= PREFIX.length + SUFFIX.length && value.startsWith(PREFIX) && value.endsWith(SUFFIX);
}

/** Visible ASCII, with spaces and tabs between but not around. */
function isPlain(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (!((code >= 0x21 && code <= 0x7e) || (isSpace(code) && i > 0 && i < value.length - 1))) return false;
  }
  return true;
}

function trimSpace(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isSpace(value.charCodeAt(start))) start++;
  while (end > start && isSpace(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09;
