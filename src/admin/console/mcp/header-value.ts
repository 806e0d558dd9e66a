/** How a browser writes any text into a header, as MCP says. */

/** Any string as a header value: plain where it is safe, else in Base64. */
export function headerValue(value: string): string {
  const isPlain = /^[!-~]+(?:[ \t]+[!-~]+)*$/.test(value) || value === "";
  if (isPlain && !(value.startsWith("=?base64?") && value.endsWith("?="))) return value;
  const bytes = new TextEncoder().encode(value);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}
