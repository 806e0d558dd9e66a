/**
 * The authorization endpoint. First the gateway asks for consent to this host; then the person signs in at the
 * company's issuer; then the host receives a code. The state between these steps is sealed into the person's browser,
 * so the gateway stores nothing for unauthenticated clients. Follows "Confused Deputy Problem" in the security best
 * practices of the specification.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "../../core/logger.js";
import { isOwnOrigin } from "../../http/check-request-head.js";
import { resourceOfEndpoint } from "../../http/resources.js";
import { isObject } from "../../wire/json.js";
import { redirect, sendPage, withParameters } from "./answers.js";
import { type Offer, readAuthorizationRequest, readState } from "./authorization-requests.js";
import { isDocumentUrl } from "./client-documents.js";
import type { Clients } from "./clients.js";
import { Cookies } from "./cookies.js";
import type { Grants } from "./grants.js";
import type { BegunLogin, IssuerLogin } from "./issuer-login.js";
import { descriptionOf, OAuthError } from "./oauth-error.js";
import { consentPage, errorPage } from "./pages.js";
import { ENDPOINT_PATHS } from "./paths.js";
import type { BrowserSessions } from "./person-sessions.js";
import {
  type AllowedRedirects,
  destinationOf,
  faultOf,
  isOnLoopback,
  isRegistered,
} from "./redirect-uris.js";
import { readForm, readQuery, required } from "./requests.js";
import { digestOf, isSame, randomText, type Sealing } from "./sealing.js";
import type { AuthorizationRequest, HostClient, HostSignIn, Now } from "./types.js";

interface AuthorizeOptions {
  readonly clients: Clients;
  readonly grants: Grants;
  readonly login: IssuerLogin;
  readonly sessions: BrowserSessions;
  readonly sealing: () => Promise<Sealing>;
  /** The issuer identifier. */
  readonly issuer: string;
  /** The company's issuer. */
  readonly companyIssuer: string;
  readonly offer: Offer;
  /** Whether each process behind the URL of the gateway can continue what this one has begun. */
  readonly isShared: boolean;
  readonly allowed: AllowedRedirects;
  readonly now: Now;
  readonly logger: Logger;
  /** By what requests are counted. */
  readonly networkOf: (request: IncomingMessage) => string;
  /** Receives each sign-in, and each refusal of a valid request. */
  readonly onSignIn: (event: HostSignIn) => void;
}

/** The content sealed into the consent page, and after consent into a cookie. */
interface Pending {
  readonly request: AuthorizationRequest;
  /** Milliseconds since 1970. */
  readonly until: number;
}
interface PendingConsent extends Pending {
  /** `digestOf` the cookie of the browser that received the page. */
  readonly browser: string;
}
/** What the login is for: a host, or a page of the gateway at this path. */
type Purpose = Pick<Pending, "request"> | { readonly page: string };
type PendingLogin = Purpose & Omit<Pending, "request"> & BegunLogin;

/** Why a sign-in may fail that ends at another replica than it began at. */
const UNSHARED =
  '. The replicas of this gateway may not share sign-ins: its operator gives them one store and one "credentials.key"';

/** Lifetime (s) of the page, and again of the login. */
const PENDING_S = 600;
const CONSENT_COOKIE = "consent";
/** In events as the host. */
const OWN_PAGE = "the page of the gateway";

/** `/oauth/authorize` and the callback from the issuer. */
export class Authorize {
  readonly #options: AuthorizeOptions;
  readonly #cookies: Cookies;
  readonly #callback: string;

  constructor(options: AuthorizeOptions) {
    this.#options = options;
    this.#cookies = new Cookies(options.issuer);
    this.#callback = `${options.issuer}${ENDPOINT_PATHS.callback}`;
  }

  /**
   * Shows the consent page. @throws OAuthError if the host or its redirect URI is unknown, so that no redirect is
   * possible
   */
  async ask(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clients, sealing, now, offer, issuer, companyIssuer } = this.#options;
    const query = readQuery(request);
    const client = await clients.find(required(query, "client_id"), this.#options.networkOf(request));
    const redirectUri = required(query, "redirect_uri");
    if (!isRegistered(redirectUri, client.redirectUris)) {
      const fault = faultOf(redirectUri, this.#options.allowed);
      const reason = fault === undefined ? "" : `: it ${fault}`;
      throw new OAuthError("invalid_request", `redirect_uri is not registered by "${client.name}"${reason}`);
    }
    let asked: AuthorizationRequest;
    try {
      asked = readAuthorizationRequest(query, client, redirectUri, offer);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      this.#refuse(response, client, { redirectUri, state: readState(query) }, error);
      return;
    }
    const known = this.#cookies.read(request, CONSENT_COOKIE);
    const browser = known !== undefined && /^[\w-]{43}$/.test(known) ? known : randomText();
    const pending: PendingConsent = {
      request: asked,
      until: now() + PENDING_S * 1000,
      browser: digestOf(browser),
    };
    this.#cookies.set(response, CONSENT_COOKIE, browser, PENDING_S);
    const html = consentPage({
      request: asked,
      documentUrl: isDocumentUrl(client.id) ? client.id : undefined,
      resource: resourceOfEndpoint(offer.resource, asked.endpoint ?? ""),
      issuer: companyIssuer,
      action: `${issuer}${ENDPOINT_PATHS.authorize}`,
      sealed: (await sealing()).seal("consent", pending),
    });
    sendPage(response, 200, html);
  }

  /** Handles the person's decision, and only then starts a login. @throws OAuthError if it is from another browser */
  async decide(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { sealing, now, logger } = this.#options;
    checkOwnPage(request, this.#options.issuer);
    const form = await readForm(request);
    const pending = (await sealing()).open("consent", required(form, "request")) as
      | PendingConsent
      | undefined;
    const browser = this.#cookies.read(request, CONSENT_COOKIE);
    if (!isObject(pending) || browser === undefined || !isSame(digestOf(browser), pending.browser))
      throw new OAuthError(
        "invalid_request",
        "this page was opened in another browser; start again in the host",
        {
          status: 403,
        },
      );
    if (pending.until <= now())
      throw new OAuthError("invalid_request", "this page has expired; start again in the host");
    const { request: asked } = pending;
    const line = {
      client: asked.clientName,
      redirect: destinationOf(asked.redirectUri),
      scopes: asked.scopes,
    };
    if (form.get("decision") !== "allow") {
      logger.info(line, `a sign-in in "${asked.clientName}" was denied on the consent page`);
      this.#fail(response, asked, new OAuthError("access_denied", "the person has denied it"));
      return;
    }
    try {
      const url = await this.#login(response, { request: asked });
      logger.info(line, `a sign-in in "${asked.clientName}" was allowed on the consent page`);
      redirect(response, url);
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      this.#fail(response, asked, error);
    }
  }

  /**
   * Signs a person in for a page of the gateway itself: no host receives anything, so no consent to one is asked for.
   *
   * @throws OAuthError `temporarily_unavailable` if the issuer does not respond
   */
  async beginPage(response: ServerResponse, page: string): Promise<void> {
    redirect(response, await this.#login(response, { page }));
  }

  /** The URL of the issuer; the response sets the cookie that the callback needs. */
  async #login(response: ServerResponse, purpose: Purpose): Promise<string> {
    const { login, sealing, now } = this.#options;
    const { url, ...begun } = await login.begin(this.#callback);
    const next: PendingLogin = { ...purpose, ...begun, until: now() + PENDING_S * 1000 };
    this.#cookies.set(response, loginCookie(begun.state), (await sealing()).seal("login", next), PENDING_S);
    return url;
  }

  /** Ends the login: the host receives its code, or the browser a session. @throws OAuthError if it was not started in this browser */
  async finish(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { sealing, now, isShared } = this.#options;
    const query = readQuery(request);
    const name = loginCookie(required(query, "state"));
    const pending = (await sealing()).open("login", this.#cookies.read(request, name) ?? "") as
      | PendingLogin
      | undefined;
    this.#cookies.set(response, name, "", 0);
    if (!isObject(pending) || !isSame(pending.state, required(query, "state")) || pending.until <= now())
      throw new OAuthError(
        "invalid_request",
        `this sign-in was started in another browser, was used before, or has expired; start again in the host${isShared ? "" : UNSHARED}`,
      );
    const url = new URL(this.#callback);
    for (const [parameter, value] of query) url.searchParams.set(parameter, value);
    const begun: PendingLogin = pending;
    if ("page" in begun) await this.#finishPage(response, url, begun);
    else await this.#finishHost(response, url, begun);
  }

  async #finishPage(
    response: ServerResponse,
    url: URL,
    pending: BegunLogin & { readonly page: string },
  ): Promise<void> {
    const { login, sessions, issuer, logger, onSignIn } = this.#options;
    const person = await login.finish(url, pending, this.#callback);
    await sessions.start(response, person);
    logger.info({ principal: person.subject }, `${person.subject} has signed in at the page of the gateway`);
    onSignIn({ outcome: "finished", principal: person.subject, host: OWN_PAGE });
    redirect(response, `${issuer}${pending.page}`);
  }

  async #finishHost(
    response: ServerResponse,
    url: URL,
    pending: BegunLogin & Pick<Pending, "request">,
  ): Promise<void> {
    const { clients, login, grants, offer, issuer, logger, onSignIn } = this.#options;
    const { request: asked } = pending;
    try {
      const person = await login.finish(url, pending, this.#callback);
      const resource = resourceOfEndpoint(offer.resource, asked.endpoint ?? "");
      const code = await grants.create(asked, person, resource);
      clients.trust(asked.client);
      logger.info(
        { principal: person.subject, client: asked.clientName, scopes: asked.scopes },
        `${person.subject} has signed in, in "${asked.clientName}"`,
      );
      onSignIn({ outcome: "finished", principal: person.subject, host: asked.clientName });
      redirect(response, withParameters(asked.redirectUri, { code, state: asked.state, iss: issuer }));
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      this.#fail(response, asked, error);
    }
  }

  /** The person, or the company's issuer, has refused. */
  #fail(response: ServerResponse, asked: AuthorizationRequest, error: OAuthError): void {
    this.#options.onSignIn({ outcome: "refused", host: asked.clientName, error: error.code });
    this.#sendBack(response, asked, error);
  }

  /** Before consent, a browser is not redirected to an address chosen by an unknown client (RFC 9700, 4.11.2). */
  #refuse(
    response: ServerResponse,
    { name }: HostClient,
    to: Pick<AuthorizationRequest, "redirectUri" | "state">,
    error: OAuthError,
  ): void {
    const { protocol, hostname } = new URL(to.redirectUri);
    const isNamed = protocol === "https:" && this.#options.allowed.hosts?.includes(hostname) === true;
    const isTrusted = isOnLoopback(to.redirectUri) || isNamed;
    if (isTrusted) this.#sendBack(response, to, error);
    else
      sendPage(
        response,
        400,
        errorPage(`${name}: ${error.message}.`, { url: this.#errorUrl(to, error), name }),
      );
  }

  #sendBack(
    response: ServerResponse,
    to: Pick<AuthorizationRequest, "redirectUri" | "state">,
    error: OAuthError,
  ): void {
    redirect(response, this.#errorUrl(to, error));
  }

  #errorUrl(
    { redirectUri, state }: Pick<AuthorizationRequest, "redirectUri" | "state">,
    error: OAuthError,
  ): string {
    return withParameters(redirectUri, {
      error: error.code,
      error_description: descriptionOf(error),
      state,
      iss: this.#options.issuer,
    });
  }
}

/** Several logins in one browser do not interfere. */
const loginCookie = (state: string): string => `login-${digestOf(state).slice(0, 16)}`;

/** Browsers state that the form comes from the page itself. @throws OAuthError */
function checkOwnPage({ headers }: IncomingMessage, issuer: string): void {
  const { origin, host = "" } = headers;
  const site = headers["sec-fetch-site"];
  const isOwn =
    (origin === undefined || isOwnOrigin(origin, host, issuer)) &&
    (site === undefined || site === "same-origin");
  if (!isOwn)
    throw new OAuthError("invalid_request", "the decision does not come from this page", { status: 403 });
}
