/**
 * Sessions of persons at pages of the gateway itself. A session is a record of the store, so all processes know it and a
 * sign-out ends it; the browser has its signed id in a cookie that scripts cannot read.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Principal } from "../../core/client.js";
import { principalOf } from "../../core/principal.js";
import { isObject } from "../../wire/json.js";
import { Cookies } from "./cookies.js";
import { digestOf, isSame, randomText, type Sealing } from "./sealing.js";
import type { GrantStore, Now, Person } from "./types.js";

interface PersonSessionsOptions {
  readonly store: GrantStore;
  readonly sealing: () => Promise<Sealing>;
  /** The issuer identifier. */
  readonly issuer: string;
  /** The company's issuer. */
  readonly personIssuer: string;
  /** The audience and the scopes that a host of the person would get. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** Whether no person may have this id: see `reservedIn`. */
  readonly isReserved: (id: string) => boolean;
  /** Lifetime (ms) of a sign-in in a host; no session is longer. */
  readonly lifetimeMs: number;
  readonly now: Now;
}

/** A session, stored until it ends. Times in ms since 1970. */
interface Session extends Person {
  readonly kind: "session";
  readonly personIssuer: string;
  readonly expiresAt: number;
}

/** Groups of a person are as old as the session, so it is short: a working day. */
const SESSION_MS = 8 * 3_600_000;
/** Of one person; the oldest ends for a new one. */
const MAX_SESSIONS = 10;
const COOKIE = "session";
/** The parts of an id, in characters of base64url. */
const PERSON_LENGTH = 21;
const RANDOM_LENGTH = 22;

/** The sessions of all persons. */
export class BrowserSessions {
  readonly #options: PersonSessionsOptions;
  readonly #cookies: Cookies;

  constructor(options: PersonSessionsOptions) {
    this.#options = options;
    this.#cookies = new Cookies(options.issuer);
  }

  /** Starts one for the person who has signed in; the response sets its cookie. @throws Error of the store */
  async start(response: ServerResponse, { subject, groups }: Person): Promise<void> {
    const { store, now, personIssuer, lifetimeMs } = this.#options;
    const prefix = digestOf(`session ${subject}\0${personIssuer}`).slice(0, PERSON_LENGTH);
    const own = [...(await store.list(prefix))].sort((a, b) => b.writtenAt - a.writtenAt);
    for (const { name } of own.slice(MAX_SESSIONS - 1)) await store.remove(name);
    const id = `${prefix}${randomText().slice(0, RANDOM_LENGTH)}`;
    const forMs = Math.min(SESSION_MS, lifetimeMs);
    const session: Session = {
      ...{ kind: "session", subject, groups, personIssuer },
      expiresAt: now() + forMs,
    };
    await store.write(id, session);
    this.#cookies.set(response, COOKIE, `${id}.${await this.#signatureOf(id)}`, Math.floor(forMs / 1000));
  }

  /** The person of the browser, with the claims that a token of a host would have; undefined without a session. */
  async of(request: IncomingMessage): Promise<Principal | undefined> {
    const { store, now, issuer, personIssuer, resource, scopes, isReserved } = this.#options;
    const id = await this.#idIn(request);
    const session = id === undefined ? undefined : await store.read(id);
    if (id === undefined || !isSession(session)) return undefined;
    if (session.expiresAt <= now()) {
      await store.remove(id);
      return undefined;
    }
    const { subject, groups } = session;
    if (session.personIssuer !== personIssuer || isReserved(subject)) return undefined;
    const scope = scopes.join(" ");
    const claims = {
      ...{ iss: issuer, sub: subject, aud: resource, groups: [...groups] },
      ...(scope !== "" && { scope }),
    };
    return principalOf({ issuer: personIssuer }, subject, { groups, claims, byToken: true });
  }

  /** Ends that of the browser. @throws Error of the store */
  async end(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = await this.#idIn(request);
    if (id !== undefined) await this.#options.store.remove(id);
    this.#cookies.set(response, COOKIE, "", 0);
  }

  /** The id in the cookie, if this gateway has issued it. */
  async #idIn(request: IncomingMessage): Promise<string | undefined> {
    const [, id, signature] = SIGNED.exec(this.#cookies.read(request, COOKIE) ?? "") ?? [];
    if (id === undefined || signature === undefined) return undefined;
    return isSame(signature, await this.#signatureOf(id)) ? id : undefined;
  }

  async #signatureOf(id: string): Promise<string> {
    return (await this.#options.sealing()).sign(`session ${id}`);
  }
}

const SIGNED = /^([\w-]{43})\.([\w-]{43})$/;

const isSession = (value: unknown): value is Session => isObject(value) && value.kind === "session";
