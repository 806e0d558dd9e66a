/** Authorization requests and their callbacks: each `state` is used once, by the browser that started the request. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { decodeJwt } from "jose";
import { idOfKey } from "../../core/principal.js";
import { nameForPeople } from "../../wire/readable-text.js";
import type { TokenSet } from "../vault/types.js";
import { authorizationRequest, authorizationResponse, redeemCode } from "./oauth/client.js";
import type { LoginState, PreparedSignIn, Proof, SignInSubject, StateRecord } from "./pending-content.js";
import { pinIssuer } from "./pinned-issuer.js";
import { type SignInContext, serverNamed } from "./sign-in-context.js";
import { asRefusal, SignInRefusal } from "./sign-in-refusal.js";
import { endpointsOf, proofKeys, tokenContext } from "./sign-in-server.js";
import { credentialOf, storeTokens } from "./store-tokens.js";
import type { TokenOutcome } from "./types.js";

/** Input of an authorization request. */
export interface BeginOptions {
  readonly subject: SignInSubject;
  readonly prepared: PreparedSignIn;
  readonly proof: Proof;
  /** The sign-in that follows; this request then only identifies the person. */
  readonly next?: StateRecord["next"];
  /** The path of the gateway that the last page leads back to. */
  readonly back?: string | undefined;
  /** Whether the callback requires a cookie of this request. */
  readonly bindsBrowser: boolean;
}

/** An authorization request that was started. */
export interface Begun {
  /** Id for polling the outcome. A secret, like `url`. */
  readonly login: string;
  /** The URL that the browser opens. */
  readonly url: string;
  /** The cookie that the callback requires, if the request is bound to a browser. */
  readonly cookie?: { readonly name: string; readonly value: string };
}

/** The result of a successful sign-in. */
export type Finished = SignInSubject & {
  readonly issuer: string;
  readonly scopes: readonly string[];
  /** The requested scopes; the issuer may have granted fewer. */
  readonly asked: readonly string[];
  /** The path of the page of the gateway where the person has begun. */
  readonly back?: string;
};

/** Starts a request. @throws OAuthError, VaultError */
export async function beginAuthorization(context: SignInContext, options: BeginOptions): Promise<Begun> {
  const { subject, prepared, proof, next, back, bindsBrowser } = options;
  const { auth, isIssuer = false } = serverNamed(context, subject.server);
  const { discovered, client, redirectUri, scopes } = prepared;
  const { url, pending } = await authorizationRequest({
    ...{ discovered, client, redirectUri, scopes },
    ...{ quirks: auth.quirks, wantsIdToken: isIssuer, isForOnce: next !== undefined },
  });
  const login = randomBytes(24).toString("base64url");
  const secret = bindsBrowser ? randomBytes(32).toString("base64url") : undefined;
  const record: StateRecord = {
    server: subject.server,
    principal: subject.principal,
    ...{ login, proof, prepared, pending },
    ...(secret !== undefined && { browser: digest(secret) }),
    ...(next !== undefined && { next }),
    ...(back !== undefined && { back }),
  };
  await context.pending.put("login", login, { ...ownerOf(subject), state: "waiting" });
  await context.pending.put("state", pending.state, record);
  const facts = { issuer: pending.issuer, scopes: pending.scopes.join(" ") };
  if (next === undefined) context.events.happened("started", subject, facts);
  const cookie = secret === undefined ? {} : { cookie: { name: cookieOf(pending.state), value: secret } };
  return { login, url, ...cookie };
}

/** A request to the callback. */
export interface Callback {
  /** The query of the callback URL. */
  readonly parameters: URLSearchParams;
  /** The value of a cookie of the browser. */
  readonly cookie: (name: string) => string | undefined;
}

/**
 * Finishes a request: takes its record, checks browser and response, redeems the code, and stores the tokens. A request
 * that only identifies the person stores nothing and starts the sign-in that follows.
 *
 * @throws SignInRefusal with what to do; `state` is spent in any case
 */
export async function finishAuthorization(
  context: SignInContext,
  callback: Callback,
): Promise<Finished | Begun> {
  const state = callback.parameters.get("state") ?? "";
  const record = state === "" ? undefined : await context.pending.take("state", state);
  if (record === undefined) {
    const sentence =
      "This sign-in is not known here: it was finished before, or it took longer than ten minutes.";
    context.events.happened("refused", undefined, { reason: sentence });
    throw new SignInRefusal(`${sentence} ${AGAIN}`, 410);
  }
  try {
    checkBrowser(record, callback.cookie(cookieOf(state)));
    const finished = await redeem(context, record, callback.parameters);
    if ("url" in finished) return finished;
    await noteEnd(context, record.login, endOf(finished));
    return finished;
  } catch (error) {
    const refusal = asRefusal(error);
    const shown = record.next?.subject ?? record;
    const reason = refusal?.message ?? "internal error; see the gateway's log";
    context.events.happened("refused", shown, { issuer: record.pending.issuer, reason });
    await noteEnd(context, record.login, { ...ownerOf(shown), state: "failed", reason });
    throw refusal?.leadingTo(record.back) ?? error;
  }
}

/** Stores the outcome of a login for the command that polls it. @throws VaultError */
export const noteEnd = (context: SignInContext, login: string, state: LoginState): Promise<void> =>
  context.pending.replace("login", login, state);

const endOf = ({ server, principal, scopes }: Finished): LoginState => ({
  ...{ server, principal, scopes },
  state: "done",
});

/** The callback must come from the browser that was redirected. @throws SignInRefusal */
function checkBrowser({ browser, server: own, next }: StateRecord, cookie: string | undefined): void {
  if (browser === undefined) return;
  const expected = Buffer.from(browser, "base64url");
  const sent = cookie === undefined ? undefined : createHash("sha256").update(cookie).digest();
  if (sent !== undefined && timingSafeEqual(expected, sent)) return;
  const server = next?.subject.server ?? own;
  throw new SignInRefusal(
    `This sign-in to ${server} was started in another browser, so it cannot continue in this one. ${AGAIN}`,
    403,
  );
}

async function redeem(
  context: SignInContext,
  record: StateRecord,
  parameters: URLSearchParams,
): Promise<Finished | Begun> {
  const { prepared, pending, server: at, next, back } = record;
  const name = next?.subject.server ?? at;
  const response = authorizationResponse(parameters, pending);
  if (response.kind === "rejected") throw new SignInRefusal(response.reason, 400);
  if (response.kind === "denied") {
    const why = response.description ?? response.error;
    throw new SignInRefusal(`${pending.issuer} did not sign you in to ${name}: ${why}. ${AGAIN}`, 403);
  }
  const server = serverNamed(context, at);
  await pinIssuer(context.vault, server, prepared.discovered.authorizationServer, context.now());
  const outcome = await redeemCode(
    await tokenContext(server, endpointsOf(prepared), context.now),
    response.code,
    pending,
  );
  if (outcome.kind !== "tokens") throw await refusalOf(context, outcome, { prepared, server: name, at });
  checkPerson(record, outcome.tokens);
  if (next === undefined) return keep(context, record, outcome.tokens);
  return beginAuthorization(context, { ...next, back, proof: "login", bindsBrowser: true });
}

/** If the issuer identifies the person, it must be the principal; otherwise nothing is stored. @throws SignInRefusal */
function checkPerson({ proof, principal, pending }: StateRecord, { idToken }: TokenSet): void {
  if (proof !== "subject") return;
  // Its claims and nonce were checked when the code was redeemed.
  const { sub } = idToken === undefined || pending.nonce === undefined ? {} : decodeJwt(idToken);
  const id = idOfKey(principal);
  if (sub === id) return;
  const who = typeof sub === "string" ? nameForPeople(sub, "a person without a readable name") : "nobody";
  throw new SignInRefusal(
    `This page was made for ${id}, and ${pending.issuer} identifies you as ${who}. Nothing was stored. ${AGAIN}`,
    403,
  );
}

/** The tokens are stored before any other step, except the check of the principal. */
async function keep(context: SignInContext, record: StateRecord, tokens: TokenSet): Promise<Finished> {
  const { prepared, pending, back } = record;
  const credential = credentialOf(record, prepared, pending.scopes, "authorization_code", tokens);
  const scopes = grantedScopes(tokens, pending.scopes);
  const finished = {
    ...ownerOf(record),
    issuer: pending.issuer,
    scopes,
    asked: pending.scopes,
    ...(back !== undefined && { back }),
  };
  await storeAndNotify(context, credential);
  return finished;
}

/** Stores the tokens of a sign-in and logs it. @throws VaultError */
export async function storeAndNotify(
  context: SignInContext,
  credential: Parameters<typeof storeTokens>[1],
): Promise<void> {
  const { vault, events } = context;
  const before = await storeTokens(vault, credential);
  const { issuer, askedScopes, tokens } = credential;
  const isWider =
    before?.tokens !== undefined &&
    before.issuer === issuer &&
    askedScopes.some((scope) => !before.askedScopes.includes(scope));
  const scopes = tokens === undefined ? askedScopes : grantedScopes(tokens, askedScopes);
  const facts = { issuer, scopes: scopes.join(" ") };
  events.happened(isWider ? "stepped_up" : "finished", credential, facts);
  const { auth, isIssuer } = serverNamed(context, credential.server);
  if (isIssuer !== true) events.excused(credential.server, auth.quirks);
}

/** A response without `scope` grants the requested scopes (RFC 6749, 5.1). */
export const grantedScopes = ({ scope }: TokenSet, asked: readonly string[]): readonly string[] =>
  scope === undefined ? asked : scope.split(" ").filter((one) => one !== "");

/**
 * The refusal of `server`, whose client is that of the server `at`. A client that the authorization server no longer
 * knows is deleted, so that the next sign-in registers again. */
export async function refusalOf(
  context: Pick<SignInContext, "vault" | "serverOf">,
  outcome: Exclude<TokenOutcome, { kind: "tokens" }>,
  { prepared, server, at = server }: Pick<StateRecord, "prepared" | "server"> & { readonly at?: string },
): Promise<SignInRefusal> {
  const { client, redirectUri, discovered } = prepared;
  const { issuer } = discovered.authorizationServer;
  if (outcome.kind === "unavailable" || outcome.kind === "ambiguous") {
    return new SignInRefusal(`${issuer} issued no tokens for ${server}: ${outcome.reason}. ${AGAIN}`, 503);
  }
  const error = outcome.kind === "refused" ? outcome.error : outcome.kind;
  const said = outcome.description === undefined ? error : `${error} (${outcome.description})`;
  if (outcome.kind !== "invalid_client") {
    return new SignInRefusal(`${issuer} issued no tokens for ${server}: ${said}. ${AGAIN}`, 502);
  }
  if (client.source !== "dynamic") {
    const { auth } = serverNamed(context, at);
    const what = client.source === "config" ? proofKeys(auth, "auth.") : "the client metadata document";
    return new SignInRefusal(
      `${issuer} does not accept the client ${client.clientId}: ${said}. Check ${what} of ${server}.`,
      502,
    );
  }
  await context.vault.removeClient(issuer, redirectUri);
  return new SignInRefusal(
    `${issuer} no longer knows the gateway: ${said}. The gateway registers again at the next attempt. ${AGAIN}`,
    502,
  );
}

/** The advice for refusals without a better one. */
export const AGAIN = "Sign in again from where you came, or with cardea login.";

const ownerOf = ({ server, principal }: SignInSubject): SignInSubject => ({ server, principal });
const digest = (text: string): string => createHash("sha256").update(text).digest("base64url");
/** One cookie per request, so that two requests in one browser do not interfere. */
export const cookieOf = (state: string): string => `cardea-sign-in-${digest(state).slice(0, 12)}`;
