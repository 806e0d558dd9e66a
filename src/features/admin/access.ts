/** Who may read the pages of the admin listener, and who may act there? */
import { hash, timingSafeEqual } from "node:crypto";
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { isOwnOrigin } from "../../http/check-request-head.js";
import { bodyTooLarge, MAX_BODY_BYTES } from "./body-text.js";

/** A request of the admin listener. */
export type AdminContext = Context<{ Bindings: HttpBindings }>;

/** What a listener accepts. */
interface Accepted {
  /** Of the config. */
  readonly token?: string | undefined;
  /** Of the user whose process it is. */
  readonly ownerToken?: string | undefined;
  /** Whether a page that a link has unlocked sends this. Default: there is none. */
  readonly isPage?: ((authorization: string | undefined) => boolean) | undefined;
}

/** The tokens of the listener. */
export class AdminAccess {
  readonly #isOperator: (authorization: string | undefined) => boolean;
  readonly #isOwner: (authorization: string | undefined) => boolean;
  readonly #isPage: (authorization: string | undefined) => boolean;
  readonly #hasToken: boolean;

  constructor({ token, ownerToken, isPage = () => false }: Accepted) {
    this.#isOperator = bearerAuth(token);
    this.#isOwner = ownerToken === undefined ? () => false : bearerAuth(ownerToken);
    this.#isPage = isPage;
    this.#hasToken = token !== undefined;
  }

  /** The response to a request that may not read pages; undefined if it may. */
  refusedPage(c: AdminContext): Response | undefined {
    const authorization = c.req.header("authorization");
    return this.#isOperator(authorization) || this.#isOwner(authorization) || this.#isPage(authorization)
      ? undefined
      : unauthorized(c, "this");
  }

  /** The response to a request that may not act, with `what` it asks for; undefined if it may. @throws GatewayError `too_large` */
  readonly refusedAction = (c: AdminContext, what: string): Response | undefined => {
    // Without a configured token every local process may read the pages; actions always need a token.
    const authorization = c.req.header("authorization");
    if (!this.#hasLastingToken(authorization) && !this.#isPage(authorization)) return unauthorized(c, what);
    return this.refusedPost(c);
  };

  /** The same for a new link to the console, which a page that was unlocked by one cannot make. @throws GatewayError `too_large` */
  refusedLink(c: AdminContext): Response | undefined {
    if (!this.#hasLastingToken(c.req.header("authorization")))
      return unauthorized(c, "a link to the console");
    return this.refusedPost(c);
  }

  /** The response to a POST that another site may have caused, or that is no JSON. @throws GatewayError `too_large` */
  refusedPost(c: AdminContext): Response | undefined {
    const { origin, host = "", "sec-fetch-site": site = "none" } = c.env.incoming.headers;
    const isForeign = origin !== undefined && !isOwnOrigin(origin, host);
    if (isForeign || (site !== "none" && site !== "same-origin")) {
      return c.json({ error: "pages of other sites may not act here" }, 403);
    }
    if (!/^application\/json(?:\s*;|$)/i.test(c.req.header("content-type") ?? "")) {
      return c.json({ error: "the content type must be application/json" }, 415);
    }
    // Without a declared length the reader of the body counts.
    if (Number(c.req.header("content-length") ?? 0) > MAX_BODY_BYTES) throw bodyTooLarge();
    return undefined;
  }

  #hasLastingToken(authorization: string | undefined): boolean {
    return this.#isOwner(authorization) || (this.#hasToken && this.#isOperator(authorization));
  }
}

function unauthorized(c: AdminContext, what: string): Response {
  const challenge = { "www-authenticate": 'Bearer realm="cardea admin"' };
  const error = `${what} needs the token of listen.admin: Authorization: Bearer …`;
  return c.json({ error }, 401, challenge);
}

const HASHED = /^sha256:[0-9a-f]{64}$/i;
/** RFC 6750, 2.1, plus every printable ASCII character: tokens from other tools may contain them. */
const BEARER = /^bearer +([!-~]+) *$/i;

/**
 * Checks `Authorization` headers. `token` is the token, or `sha256:` and its hash; without one every request passes,
 * which the listener allows on loopback only.
 */
export function bearerAuth(token: string | undefined): (authorization: string | undefined) => boolean {
  if (token === undefined) return () => true;
  const expected = HASHED.test(token) ? Buffer.from(token.slice(7), "hex") : digestOf(token);
  return (authorization) => {
    const sent = bearerToken(authorization);
    // `timingSafeEqual` needs equal lengths, which hashes have.
    return sent !== undefined && timingSafeEqual(digestOf(sent), expected);
  };
}

/** The token of an `Authorization` header. */
export function bearerToken(authorization = ""): string | undefined {
  return BEARER.exec(authorization)?.[1];
}

const digestOf = (text: string): Buffer => hash("sha256", text, "buffer");
