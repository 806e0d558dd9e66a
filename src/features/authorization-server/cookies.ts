/** Cookies that no other page, no other host and no unencrypted connection receives. */
import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * The cookies of one issuer. Over https they are bound to this host (`__Host-`); loopback without TLS has no such
 * cookies.
 */
export class Cookies {
  readonly #isSecure: boolean;

  /** @param issuer the URL of the gateway for browsers */
  constructor(issuer: string) {
    this.#isSecure = issuer.startsWith("https:");
  }

  /** The value of the cookie `name`; undefined if absent or set twice, once by another page. */
  read({ headers }: IncomingMessage, name: string): string | undefined {
    const start = `${this.#nameOf(name)}=`;
    const found = (headers.cookie ?? "")
      .split(";")
      .map((each) => each.trim())
      .filter((each) => each.startsWith(start));
    return found.length === 1 ? found[0]?.slice(start.length) : undefined;
  }

  /** Sets a cookie for `seconds`; 0 removes it. */
  set(response: ServerResponse, name: string, value: string, seconds: number): void {
    const parts = [
      `${this.#nameOf(name)}=${value}`,
      "Path=/",
      "HttpOnly",
      "SameSite=Lax",
      `Max-Age=${seconds}`,
    ];
    response.appendHeader("set-cookie", [...parts, ...(this.#isSecure ? ["Secure"] : [])].join("; "));
  }

  #nameOf(name: string): string {
    return `${this.#isSecure ? "__Host-" : ""}cardea-${name}`;
  }
}
