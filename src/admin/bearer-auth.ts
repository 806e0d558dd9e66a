/** Whether a request for an admin page carries the configured token. */
import { hash, timingSafeEqual } from "node:crypto";

const HASHED = /^sha256:[0-9a-f]{64}$/i;
/** RFC 6750, 2.1, with every printable ASCII character: tokens made elsewhere may contain others. */
const BEARER = /^bearer +([!-~]+) *$/i;

/**
 * A test of `Authorization` headers. `token` is the token, or `sha256:` and its hash; without one every request passes,
 * which the listener allows on loopback only.
 */
export function bearerAuth(token: string | undefined): (authorization: string | undefined) => boolean {
  if (token === undefined) return () => true;
  const expected = HASHED.test(token) ? Buffer.from(token.slice(7), "hex") : digestOf(token);
  return (authorization = "") => {
    const [, sent] = BEARER.exec(authorization) ?? [];
    // `timingSafeEqual` needs equal lengths, which hashes have.
    return sent !== undefined && timingSafeEqual(digestOf(sent), expected);
  };
}

const digestOf = (text: string): Buffer => hash("sha256", text, "buffer");
