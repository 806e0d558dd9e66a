/** All sign-in operations: for a host's call, a page, a command, the console. */

import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import { idOfKey } from "../../core/principal.js";
import { named } from "../../outgoing/guarded-fetch.js";
import { writeJson } from "../../wire/json-text.js";
import { type AcceptedIssuer, acceptIssuer } from "./accept-issuer.js";
import {
  AGAIN,
  type Begun,
  beginAuthorization,
  type Callback,
  type Finished,
  finishAuthorization,
} from "./authorizations.js";
import { type DeviceSignIn, DeviceSignIns, deviceEndpointOf, type Wait } from "./device-sign-ins.js";
import type { RequestedSignIn } from "./identify-person.js";
import { type LoginRow, loginRows, type ShownPin, shownPin } from "./login-rows.js";
import { loginServerOf } from "./login-server.js";
import type { LoginState, PreparedSignIn, Proof, SignInSubject, TicketRecord } from "./pending-content.js";
import { pinOf } from "./pinned-issuer.js";
import { discoverySteps, prepareSignIn } from "./prepare-sign-in.js";
import { RepeatedSignIns } from "./repeated-sign-ins.js";
import { type SignInContext, serverNamed } from "./sign-in-context.js";
import { SignInRefusal } from "./sign-in-refusal.js";
import { ownerAt, type SignInServer } from "./sign-in-server.js";
import { type SignedOut, signOut } from "./sign-out.js";
import type { Step } from "./types.js";

/** Why the connect page is needed. */
export interface ConnectReason {
  /** `WWW-Authenticate` of the refused request. */
  readonly challenge?: string;
  /** The path of the page of the gateway that the last page leads back to. Default: none, as of a call that waits. */
  readonly back?: string;
}

/** The result of starting a sign-in from a command. */
export interface BegunLogin {
  readonly login: string;
  readonly server: string;
  readonly principal: string;
  readonly issuer: string;
  /** What the tokens will be valid for. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** The URL for the browser; for a device sign-in the verification page. */
  readonly url: string;
  readonly redirectUri: string;
  /** The code to type there. */
  readonly userCode?: string;
  readonly offersDevice: boolean;
}

/** The shared dependencies, and the sleep of device sign-ins. */
export interface SignInsOptions extends SignInContext {
  readonly wait: Wait;
}

const MAX_TICKETS = 10_000;
/** A connect URL is reused for this time (ms), so that its reader has part of the ticket's lifetime left. */
const TICKET_REUSE_MS = 600_000;

/** The sign-ins of one process; their progress is stored where other processes find it. */
export class SignIns {
  readonly #devices: DeviceSignIns;
  readonly #repeated: RepeatedSignIns;
  readonly #tickets: LRUCache<string, string>;

  constructor(private readonly context: SignInsOptions) {
    this.#devices = new DeviceSignIns(context, context.wait);
    this.#repeated = new RepeatedSignIns(context.now);
    this.#tickets = new LRUCache({
      max: MAX_TICKETS,
      ttl: TICKET_REUSE_MS,
      ttlResolution: 0,
      perf: { now: context.now },
    });
  }

  /**
   * The URL of the page where `principal` can sign in to `server`: random, single-use, the same until it is used.
   *
   * @throws SignInRefusal if a page would not help: an operator signs in there, or there were too many attempts
   */
  async connectUrl(server: string, principal: string, reason: ConnectReason = {}): Promise<string> {
    const { challenge, back } = reason;
    const found = serverNamed(this.context, server);
    if (found.auth.as !== "principal") {
      throw new SignInRefusal(
        `${server} has one sign-in for all (auth.as: ${found.auth.as}): its operator signs in with "cardea login ${server}".`,
        403,
      );
    }
    const lacked = this.context.lackedScopes?.(server, principal) ?? [];
    if (await this.#isInVain({ server: loginServerOf(found).name, principal }, lacked)) {
      throw new SignInRefusal(
        `${server} requests another sign-in after several with the same permissions. Ask the operator of ${server}, or wait ten minutes.`,
        403,
      );
    }
    const key = writeJson([server, principal, challenge ?? "", back ?? "", ...lacked]);
    const known = this.#tickets.get(key);
    if (known !== undefined && (await this.context.pending.read("ticket", known)) !== undefined) {
      return this.#urlOf(known);
    }
    const ticket = randomBytes(24).toString("base64url");
    await this.context.pending.put("ticket", ticket, {
      ...{ server, principal },
      ...(challenge !== undefined && { challenge }),
      ...(back !== undefined && { back }),
      ...(lacked.length > 0 && { lackedScopes: lacked }),
    });
    this.#tickets.set(key, ticket);
    return this.#urlOf(ticket);
  }

  /**
   * The content of a ticket's page. Its first visit runs discovery.
   *
   * @throws SignInRefusal, OAuthError, VaultError
   */
  async ticket(ticket: string): Promise<TicketRecord & RequestedSignIn> {
    const record = await this.context.pending.read("ticket", ticket);
    if (record === undefined) throw SPENT();
    const isIssuer = loginServerOf(serverNamed(this.context, record.server)).isIssuer === true;
    if (record.prepared !== undefined) return { ...record, prepared: record.prepared, isIssuer };
    const prepared = await this.#prepare(record);
    await this.context.pending.replace("ticket", ticket, { ...record, prepared });
    return { ...record, prepared, isIssuer };
  }

  /** Counts a wrong key; the ticket ends after five. @throws SignInRefusal */
  async wrongKey(ticket: string): Promise<never> {
    const record = await this.context.pending.read("ticket", ticket);
    if (record === undefined) throw SPENT();
    const wrongKeys = (record.wrongKeys ?? 0) + 1;
    this.context.events.happened("refused", record, { reason: "a wrong key was given at the connect page" });
    if (wrongKeys >= MAX_WRONG_KEYS) await this.context.pending.take("ticket", ticket);
    else await this.context.pending.replace("ticket", ticket, { ...record, wrongKeys });
    throw new SignInRefusal(
      "This key does not belong to the principal of this page. Go back and try again.",
      403,
    );
  }

  /** Spends a ticket and starts its request, for the browser that receives the cookie. @throws as `ticket` */
  async start(ticket: string, proof: Proof): Promise<Begun> {
    await this.ticket(ticket);
    const record = await this.context.pending.take("ticket", ticket);
    if (record?.prepared === undefined) throw SPENT();
    const { principal, prepared, back } = record;
    const server = loginServerOf(serverNamed(this.context, record.server)).name;
    const subject = { server, principal };
    if (proof === "login") return this.#identify(subject, prepared, back);
    return beginAuthorization(this.context, { subject, prepared, proof, back, bindsBrowser: true });
  }

  /** First a login that must name the principal, then the sign-in. */
  async #identify(subject: SignInSubject, prepared: PreparedSignIn, back?: string): Promise<Begun> {
    const { identity, vault, now, baseUrl } = this.context;
    const { principal } = subject;
    const place = identity?.();
    if (place === undefined)
      throw new SignInRefusal("The config has changed. Repeat the call in the host.", 409);
    const options = {
      vault,
      now,
      baseUrl: baseUrl(),
      owner: principal,
      challenge: undefined,
      lackedScopes: [],
    };
    return beginAuthorization(this.context, {
      subject: { server: place.name, principal },
      prepared: await prepareSignIn(place, options),
      next: { subject, prepared },
      back,
      proof: "subject",
      bindsBrowser: true,
    });
  }

  /** Starts a sign-in for an operator. @throws SignInRefusal, OAuthError, VaultError */
  async begin(
    server: string,
    as: string,
    { device = false, acceptsAudience = false } = {},
  ): Promise<BegunLogin> {
    const found = serverNamed(this.context, server);
    const principal = ownerAt(found, as);
    const subject = { server: loginServerOf(found).name, principal };
    const prepared = await this.#prepare({ server, principal });
    const { discovered, redirectUri, scopes } = prepared;
    if (prepared.isWider === true && !acceptsAudience) throw widerAudience(found, discovered.resource);
    const facts = {
      ...{ server, principal: idOfKey(principal), redirectUri, scopes },
      issuer: discovered.authorizationServer.issuer,
      resource: discovered.resource,
      offersDevice: deviceEndpointOf(prepared) !== undefined,
    };
    if (device) return { ...facts, ...deviceFacts(await this.#devices.begin(subject, prepared)) };
    const begun = await beginAuthorization(this.context, {
      ...{ subject, prepared },
      proof: "operator",
      bindsBrowser: false,
    });
    return { ...facts, login: begun.login, url: begun.url };
  }

  /** Handles a callback; starts the sign-in that follows if it was an identifying login. @throws SignInRefusal */
  async callback(callback: Callback): Promise<Finished | Begun> {
    const finished = await finishAuthorization(this.context, callback);
    if ("url" in finished) return finished;
    this.#repeated.finished(finished, finished.asked);
    return finished;
  }

  /** The same for a callback URL that a person pasted. @throws SignInRefusal */
  async pasted(login: string, url: string): Promise<Finished | Begun> {
    if (!URL.canParse(url)) {
      throw new SignInRefusal("This is not a URL. Paste the whole address that the browser ended at.", 400);
    }
    const parameters = new URL(url).searchParams;
    const record = await this.context.pending.read("state", parameters.get("state") ?? "");
    if (record !== undefined && record.login !== login) {
      throw new SignInRefusal("This address belongs to another sign-in.", 403);
    }
    return this.callback({ parameters, cookie: () => undefined });
  }

  /** The outcome of a login; undefined if it has expired. @throws VaultError */
  async state(login: string): Promise<LoginState | undefined> {
    const state = await this.context.pending.read("login", login);
    return state && { ...state, principal: idOfKey(state.principal) };
  }

  /** Whether `principal` has tokens for `server`, or the login from which they come. @throws VaultError */
  async isSignedIn(server: string, principal: string): Promise<boolean> {
    const found = this.context.serverOf(server);
    if (found === undefined) return false;
    const names = new Set([server, loginServerOf(found).name]);
    for (const name of names) {
      if ((await this.context.vault.read(name, ownerAt(found, principal)))?.tokens !== undefined) return true;
    }
    return false;
  }

  /** Revokes and deletes the tokens. @throws VaultError */
  signOut(server: string, as: string): Promise<SignedOut> {
    const found = this.context.serverOf(server);
    const principal = found === undefined ? as : ownerAt(found, as);
    const own = signOut(this.context, { server, principal });
    if (found?.auth.idp === undefined) return own;
    // Otherwise the next call would obtain its token from the login.
    return own.then(async (signedOut) => {
      const login = await signOut(this.context, { server: loginServerOf(found).name, principal });
      return login.wasSignedIn ? login : signedOut;
    });
  }

  /** All sign-ins, by server and principal. @throws VaultError */
  logins(): Promise<readonly LoginRow[]> {
    return loginRows(this.context);
  }

  /** Pins the authorization server that `server` names now, whatever was pinned. @throws SignInRefusal, OAuthError */
  acceptIssuer(server: string): Promise<AcceptedIssuer> {
    return acceptIssuer(this.context, server);
  }

  /** The authorization server that `server` is bound to; undefined for none. Its failure is that of `steps`. */
  async pinned(server: string): Promise<ShownPin | undefined> {
    const found = this.context.serverOf(server);
    const pin = found && (await pinOf(this.context.vault, found).catch(() => undefined));
    return pin && shownPin(pin);
  }

  /** The discovery steps of a sign-in; none for a server without one. */
  async steps(server: string): Promise<readonly Step[]> {
    const found = this.context.serverOf(server);
    return found === undefined ? [] : discoverySteps(found, this.context.vault);
  }

  close(): void {
    this.#devices.close();
  }

  #urlOf(ticket: string): string {
    return `${this.context.baseUrl()}${CONNECT_PATH}/${ticket}`;
  }

  /** Whether several sign-ins succeeded, and the token of the last one exists and does not help. */
  async #isInVain(subject: SignInSubject, lacked: readonly string[]): Promise<boolean> {
    if (!this.#repeated.isEnough(subject, lacked)) return false;
    const kept = await this.context.vault.read(subject.server, subject.principal);
    if (kept?.tokens !== undefined) return true;
    // It was signed out, perhaps in another process: the next sign-in is intended.
    this.#repeated.forget(subject);
    return false;
  }

  #prepare({
    server,
    principal: owner,
    challenge,
    lackedScopes = [],
  }: TicketRecord): Promise<PreparedSignIn> {
    const { vault, now, baseUrl } = this.context;
    const found = loginServerOf(serverNamed(this.context, server));
    return prepareSignIn(found, {
      ...{ vault, owner, challenge, now },
      baseUrl: baseUrl(),
      lackedScopes: [...lackedScopes, ...(this.context.lackedScopes?.(server, owner) ?? [])],
    });
  }
}

/** The page of a ticket, below the URL of the gateway. */
const CONNECT_PATH = "/oauth/connect";
const MAX_WRONG_KEYS = 5;

const SPENT = () =>
  new SignInRefusal(`This address was used before, or is older than half an hour. ${AGAIN}`, 410);

const widerAudience = ({ name, url }: SignInServer, resource: string): SignInRefusal =>
  new SignInRefusal(
    `${name} asks for tokens for ${resource}, which is more than ${named(url)} (RFC 9728, 3.3): they would be valid for all of it. If you agree, run "cardea login ${name} --accept-audience", or set "resource": ${writeJson(resource)} in its auth in the config.`,
    409,
  );

const deviceFacts = ({ login, userCode, verificationUri, verificationUriComplete }: DeviceSignIn) => ({
  ...{ login, userCode },
  url: verificationUriComplete ?? verificationUri,
});
