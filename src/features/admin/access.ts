/** Who may read the pages of the admin listener, and who may act there? */
import { hash, timingSafeEqual } from "node:crypto";
import type { AdminCaller, AdminRole } from "../../core/admin-page.js";
import { isOwnOrigin } from "../../http/check-request-head.js";
import { type ClientAddress, peerOf } from "../../http/client-address.js";
import { type AccessLists, roleOf } from "./access-lists.js";
import { bodyTooLarge, MAX_BODY_BYTES } from "./body-text.js";
import { type AdminContext, adminToken, callerIn, isAtLeast, personOf } from "./caller.js";
import type { Persons } from "./persons.js";

/** What a listener accepts. */
interface Accepted {
  /** Of the config. */
  readonly token?: string | undefined;
  /** Of the user whose process it is. */
  readonly ownerToken?: string | undefined;
  /** Persons with tokens of the issuer of hosts. Default: none. */
  readonly access?: AccessLists | undefined;
  readonly persons?: Persons | undefined;
  /** Whether a page that a link has unlocked sends this. Default: there is none. */
  readonly isPage?: ((authorization: string | undefined) => boolean) | undefined;
  /** Whether only processes of this gateway can connect, which say for whom they ask. Default: no. */
  readonly isInternal?: boolean;
  /** Where a request comes from. Default: the address of its connection. */
  readonly addressOf?: ClientAddress | undefined;
}

/** The tokens of the listener. */
export class AdminAccess {
  readonly #accepted: Accepted;
  readonly #hasToken: (authorization: string | undefined) => boolean;
  readonly #isOwner: (authorization: string | undefined) => boolean;

  constructor(accepted: Accepted) {
    this.#accepted = accepted;
    const { token, ownerToken } = accepted;
    this.#hasToken = token === undefined ? () => false : bearerAuth(token);
    this.#isOwner = ownerToken === undefined ? () => false : bearerAuth(ownerToken);
  }

  /**
   * Reads who asks, before any route. Resolves to the response to a request without valid credentials; undefined for any other.
   *
   * @throws HttpRefusal for the token of a person that is not valid here
   */
  async identify(c: AdminContext): Promise<Response | undefined> {
    const { access, token } = this.#accepted;
    const caller = await this.callerOf(c);
    if (caller !== undefined) c.set("caller", caller);
    // Without a token and without persons every local process may read.
    else if (token !== undefined || access !== undefined) return this.#unauthorized(c, "this");
    return undefined;
  }

  /** Who asks, of those that have valid credentials. @throws HttpRefusal */
  async callerOf(c: AdminContext): Promise<AdminCaller | undefined> {
    const { access, persons, isInternal = false, isPage, addressOf = peerOf } = this.#accepted;
    const authorization = c.req.header("authorization");
    const address = addressOf(c.env.incoming);
    if (isInternal && this.#isOwner(authorization))
      return callerIn(c.env.incoming.headers) ?? adminToken(address);
    if (this.#hasLastingToken(authorization) || isPage?.(authorization) === true) return adminToken(address);
    if (access === undefined || persons === undefined || bearerToken(authorization) === undefined)
      return undefined;
    const principal = await persons.identify(authorization ?? "");
    return {
      ...{ principal, role: roleOf(access, principal) },
      ...(address !== undefined && { address }),
    };
  }

  /** The response to a request that may not read pages; undefined if it may. */
  refusedPage(c: AdminContext, needed: AdminRole = "viewer"): Response | undefined {
    const caller = c.get("caller");
    return caller === undefined || isAtLeast(caller.role, needed) ? undefined : forbidden(c, caller);
  }

  /** The response to a request that may not act, with `what` it asks for; undefined if it may. @throws GatewayError `too_large` */
  readonly refusedAction = (
    c: AdminContext,
    what: string,
    needed: AdminRole = "operator",
  ): Response | undefined => {
    // Without a configured token every local process may read the pages; actions always need a token.
    const caller = c.get("caller");
    if (caller === undefined) return this.#unauthorized(c, what);
    if (!isAtLeast(caller.role, needed)) return forbidden(c, caller);
    return this.refusedPost(c);
  };

  /**
   * The same for a new link to the console, which unlocks it for the one that opens it: neither a page that was unlocked by
   * another link nor a person makes one. @throws GatewayError `too_large`
   */
  refusedLink(c: AdminContext): Response | undefined {
    const person = personOf(c.get("caller"));
    if (person !== undefined)
      return c.json(
        { error: `${person.id} signs in with its own token: links are made with that of listen.admin` },
        403,
      );
    if (!this.#hasLastingToken(c.req.header("authorization")))
      return this.#unauthorized(c, "a link to the console");
    return this.refusedPost(c);
  }

  /** The response to a request that no process of this gateway sends; undefined to one of theirs. */
  refusedInternal(c: AdminContext): Response | undefined {
    return this.#isOwner(c.req.header("authorization")) ? undefined : this.#unauthorized(c, "this");
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
    return this.#isOwner(authorization) || this.#hasToken(authorization);
  }

  #unauthorized(c: AdminContext, what: string): Response {
    const challenge = { "www-authenticate": 'Bearer realm="cardea admin"' };
    const tokens =
      this.#accepted.access === undefined
        ? "the token of listen.admin"
        : "the token of a person that listen.admin.access names, or that of listen.admin";
    return c.json({ error: `${what} needs ${tokens}: Authorization: Bearer …` }, 401, challenge);
  }
}

function forbidden(c: AdminContext, { principal, role }: AdminCaller): Response {
  const error =
    role === "viewer"
      ? `${principal.id} may only read here: actions are for the operators of listen.admin.access`
      : `${principal.id} may not read this: listen.admin.access names neither this principal nor one of its groups`;
  return c.json({ error }, 403);
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
