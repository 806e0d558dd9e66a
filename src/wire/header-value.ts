/**
 * How is any string written as an HTTP header value, and read back? Plain where it is safe, else `=?base64?…?=`
 * (2026-07-28, basic/transports/streamable-http, "Value Encoding").
 */

const PREFIX = "=?base64?";
const SUFFIX = "?=";

/** Encodes `value`; `decodeHeaderValue` returns exactly `value`. */
export function encodeHeaderValue(value: string): string {
  if (isPlain(value) && !looksEncoded(value)) return value;
  return `${PREFIX}${Buffer.from(value, "utf8").toString("base64")}${SUFFIX}`;
}

/**
 * Decodes a header value; surrounding white space is not part of it (RFC 9110, 5.5).
 * `undefined` when it has characters that are invalid in header values, or an encoded part that is not the Base64 of
 * UTF-8 text.
 */
export function decodeHeaderValue(header: string): string | undefined {
  const value = trimSpace(header);
  if (!isPlain(value)) return undefined;
  if (!looksEncoded(value)) return value;
  const encoded = value.slice(PREFIX.length, -SUFFIX.length);
  const bytes = Buffer.from(encoded, "base64");
  // Node ignores invalid Base64 characters and missing padding; only a value that encodes back to itself is valid
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
