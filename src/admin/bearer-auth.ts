/** Who may look at the admin pages: whoever sends the token, where there is one. */
import { hash, timingSafeEqual } from "node:crypto";

const HASHED = /^sha256:[0-9a-f]{64}$/i;
/** RFC 6750, 2.1; one made elsewhere may have other characters than that. */
const BEARER = /^bearer +([!-~]+) *$/i;

/**
 * Whether the `Authorization` header of a request carries the token. `token` is the token, or `sha256:` and its
 * hash; without one everybody may look, which is for this machine alone.
 */
export function bearerAuth(token: string | undefined): (authorization: string | undefined) => boolean {
  if (token === undefined) return () => true;
  const expected = HASHED.test(token) ? Buffer.from(token.slice(7), "hex") : digestOf(token);
  return (authorization = "") => {
    const [, sent] = BEARER.exec(authorization) ?? [];
    // Hashes are compared, so that they are of one length whatever was sent.
    return sent !== undefined && timingSafeEqual(digestOf(sent), expected);
  };
}

const digestOf = (text: string): Buffer => hash("sha256", text, "buffer");
