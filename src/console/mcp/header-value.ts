/** Encodes text as a header value, as specified by MCP. */

/** Any string as a header value: unchanged if safe, otherwise in Base64. */
export function headerValue(value: string): string {
  const isPlain = /^[!-~]+(?:[ \t]+[!-~]+)*$/.test(value) || value === "";
  if (isPlain && !(value.startsWith("=?base64?") && value.endsWith("?="))) return value;
  const bytes = new TextEncoder().encode(value);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}
