/** The life of a grant: from its code, through rotating refresh tokens, to its end or revocation. */
import type { Logger } from "../../core/logger.js";
import type { RateLimit } from "../../http/rate-limit.js";
import { isObject } from "../../wire/json.js";
import { OAuthError } from "./oauth-error.js";
import { digestOf, isSame, randomText, type Sealing } from "./sealing.js";
import { KEYS_RECORD } from "./signing-keys.js";
import type { AuthorizationRequest, Grant, GrantStore, HostSignIn, Now, Person } from "./types.js";

interface GrantsOptions {
  readonly store: GrantStore;
  readonly sealing: () => Promise<Sealing>;
  /** The company's issuer: equal subjects of two issuers are two persons. */
  readonly personIssuer: string;
  /** Lifetime (ms) of a grant. */
  readonly lifetimeMs: number;
  readonly now: Now;
  readonly logger: Logger;
  /** By the id of a grant: each sign-in has its own share. */
  readonly limit: RateLimit;
  /** Receives a reuse, and each refusal of a token with a known grant. */
  readonly onSignIn: (event: HostSignIn) => void;
}

/** Lifetime of a code in ms. */
const CODE_MS = 60_000;
/** Maximum grants per person; the least recently used one ends for a new one. */
export const MAX_GRANTS = 50;
const SWEEP_MS = 3_600_000;

/** A grant, and the refresh token that is valid from now on. */
export interface Renewed {
  readonly grant: Grant;
  readonly refreshToken: string;
}

/** The parameters sent with a code. */
export interface Redemption {
  readonly code: string;
  /** `clientKeyOf` its `client_id`. */
  readonly client: string;
  readonly redirectUri: string;
  /** The PKCE verifier. */
  readonly verifier: string;
}

/** The grants of all persons. Each has its own record and changes only under that record's lock. */
export class Grants {
  readonly #options: GrantsOptions;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(options: GrantsOptions) {
    this.#options = options;
  }

  /** Stores what `person` has granted by `request`. Resolves to the code for the host. @throws Error of the store */
  async create(
    request: AuthorizationRequest,
    { subject, groups }: Person,
    resource: string,
  ): Promise<string> {
    const { store, now, lifetimeMs, personIssuer } = this.#options;
    const prefix = prefixOf(subject, personIssuer);
    await this.#removeEnded();
    await this.#makeRoom(prefix);
    const { client, clientName, redirectUri, scopes, challenge } = request;
    const createdAt = now();
    const grant: Grant = {
      id: `${prefix}${randomText().slice(0, RANDOM_LENGTH)}`,
      ...{ subject, groups, client, clientName, redirectUri, scopes, challenge, resource, createdAt },
      personIssuer,
      expiresAt: createdAt + lifetimeMs,
      generation: 0,
    };
    await store.write(grant.id, grant);
    return this.#tokenOf(grant);
  }

  /**
   * Redeems a code, once. A second use ends the grant: the code was stolen (RFC 6749, 4.1.2).
   *
   * @param check throws if the host requests more than the grant allows; the code then stays valid
   * @throws OAuthError `invalid_grant`
   */
  async redeem(
    { code, client, redirectUri, verifier }: Redemption,
    check: (grant: Grant) => void,
  ): Promise<Renewed> {
    return this.#change(code, "code", async (grant, generation) => {
      if (generation !== 0) throw invalid("this is not an authorization code");
      if (grant.client !== client) throw invalid("the code belongs to another client");
      if (grant.redirectUri !== redirectUri)
        throw invalid("redirect_uri is not that of the authorization request");
      if (!isSame(challengeOf(verifier), grant.challenge)) throw invalid("code_verifier is wrong (PKCE)");
      check(grant);
      if (this.#options.now() - grant.createdAt >= CODE_MS) {
        await this.#options.store.remove(grant.id);
        throw invalid("the code has expired");
      }
    });
  }

  /**
   * Rotates a refresh token. Reuse of a replaced one ends the grant (RFC 9700, 4.14.2).
   *
   * @param check throws if the host requests more than the grant allows; the token then stays valid
   * @throws OAuthError `invalid_grant`
   */
  async refresh(token: string, client: string, check: (grant: Grant) => void): Promise<Renewed> {
    return this.#change(token, "refresh token", async (grant, generation) => {
      if (generation === 0) throw invalid("this is not a refresh token");
      if (grant.client !== client) throw invalid("the refresh token belongs to another client");
      check(grant);
    });
  }

  /**
   * Ends the grant of a code or refresh token. Returns it; undefined if there is none, which is no error (RFC 7009,
   * 2.2).
   */
  async revoke(token: string, client: string): Promise<Grant | undefined> {
    const read = await this.#readToken(token);
    if (read === undefined) return undefined;
    this.#takeShare(read.id);
    return this.#options.store.locked(read.id, async () => {
      const grant = await this.#readGrant(read.id);
      if (grant === undefined || grant.client !== client) return undefined;
      await this.#options.store.remove(grant.id);
      return grant;
    });
  }

  /** Checks a token with `check` and increments the grant's counter. */
  async #change(
    token: string,
    kind: "code" | "refresh token",
    check: (grant: Grant, generation: number) => Promise<void>,
  ): Promise<Renewed> {
    const read = await this.#readToken(token);
    if (read === undefined) throw invalid(`the ${kind} is unknown`);
    this.#takeShare(read.id);
    try {
      return await this.#options.store.locked(read.id, () => this.#changeLocked(read, kind, check));
    } catch (error) {
      throw error instanceof OAuthError ? error.ofGrant() : error;
    }
  }

  async #changeLocked(
    { id, generation }: ReadToken,
    kind: "code" | "refresh token",
    check: (grant: Grant, generation: number) => Promise<void>,
  ): Promise<Renewed> {
    const { store, now, logger, onSignIn, personIssuer } = this.#options;
    const grant = await this.#readGrant(id);
    if (grant === undefined) throw invalid(`the ${kind} is no longer valid: it was revoked, or used before`);
    if ((grant.personIssuer ?? personIssuer) !== personIssuer)
      throw invalid("the gateway has another issuer now; sign in again");
    const about = { principal: grant.subject, host: grant.clientName };
    try {
      await check(grant, generation);
    } catch (error) {
      if (error instanceof OAuthError) onSignIn({ outcome: "refused", ...about, error: error.code });
      throw error;
    }
    if (grant.generation !== generation) {
      await store.remove(grant.id);
      logger.warn(
        { principal: grant.subject, client: grant.clientName },
        `a ${kind} was used twice, so it may be stolen: the sign-in of ${grant.subject} in "${grant.clientName}" has ended`,
      );
      onSignIn({ outcome: "reused", ...about });
      throw invalid(`the ${kind} was used before; the sign-in has ended`);
    }
    if (grant.expiresAt <= now()) {
      await store.remove(grant.id);
      throw invalid("the sign-in has expired");
    }
    const next: Grant = { ...grant, generation: grant.generation + 1 };
    await store.write(next.id, next);
    return { grant: next, refreshToken: await this.#tokenOf(next) };
  }

  /** @throws OAuthError 429 */
  #takeShare(id: string): void {
    const retryAfterS = this.#options.limit.take(id);
    if (retryAfterS !== undefined)
      throw new OAuthError("temporarily_unavailable", "too many requests of one sign-in; try again later", {
        status: 429,
        retryAfterS,
      });
  }

  /** Deletes a person's least recently used grants above the limit. */
  async #makeRoom(prefix: string): Promise<void> {
    const { store } = this.#options;
    const own = [...(await store.list(prefix))].sort((a, b) => b.writtenAt - a.writtenAt);
    for (const { name } of own.slice(MAX_GRANTS - 1)) await store.remove(name);
  }

  /** Deletes all expired grants, at most once an hour. */
  async #removeEnded(): Promise<void> {
    const { store, now, lifetimeMs } = this.#options;
    if (now() - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now();
    for (const { name, writtenAt } of await store.list("")) {
      if (name !== KEYS_RECORD && now() - writtenAt >= lifetimeMs) await store.remove(name);
    }
  }

  async #readGrant(id: string): Promise<Grant | undefined> {
    const value = await this.#options.store.read(id);
    return isObject(value) ? (value as unknown as Grant) : undefined;
  }

  async #tokenOf({ id, generation }: Pick<Grant, "id" | "generation">): Promise<string> {
    const text = `${id}.${generation}`;
    return `${text}.${(await this.#options.sealing()).sign(text)}`;
  }

  /** The parts of a code or refresh token; undefined if this gateway did not issue it. */
  async #readToken(token: string): Promise<ReadToken | undefined> {
    const [, text, id, generation, code] = TOKEN.exec(token) ?? [];
    if (text === undefined || id === undefined || code === undefined) return undefined;
    if (!isSame((await this.#options.sealing()).sign(text), code)) return undefined;
    return { id, generation: Number(generation) };
  }
}

/** The content of a code or refresh token that this gateway has issued. */
interface ReadToken {
  /** Of the grant. */
  readonly id: string;
  readonly generation: number;
}

const TOKEN = /^(([\w-]{43})\.(\d{1,9}))\.([\w-]{43})$/;

/** The parts of a grant's id, in characters of base64url. */
const PERSON_LENGTH = 21;
const RANDOM_LENGTH = 22;

/** The grant ids of one person share a prefix that does not reveal the person. */
const prefixOf = (subject: string, issuer: string): string =>
  digestOf(`person ${subject}\0${issuer}`).slice(0, PERSON_LENGTH);

/** PKCE, S256 (RFC 7636, 4.6). */
const challengeOf = (verifier: string): string => digestOf(verifier);

const invalid = (message: string): OAuthError => new OAuthError("invalid_grant", message);
