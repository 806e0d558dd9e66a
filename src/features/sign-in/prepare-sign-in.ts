/** Prepares a sign-in before the person is asked: the authorization server, the client there and the scopes. */
import { type GuardedFetch, named } from "../../outgoing/guarded-fetch.js";
import { writeJson } from "../../wire/json-text.js";
import type { IssuerPin, Vault } from "../vault/types.js";
import { type Discovery, discover, discoverIssuer, OAuthError, register } from "./oauth/client.js";
import type { PreparedSignIn } from "./pending-content.js";
import { checkIssuer, pinOf } from "./pinned-issuer.js";
import { fetchFor, type SignInServer } from "./sign-in-server.js";
import type { Discovered, Step } from "./types.js";

/** Input of the preparation. */
export interface PrepareOptions {
  readonly vault: Pick<Vault, "read" | "readClient" | "writeClient" | "readPin">;
  /** The URL of the gateway for browsers, without a slash at its end. */
  readonly baseUrl: string;
  /** The id under which the credentials are stored. */
  readonly owner: string;
  /** `WWW-Authenticate` of a refusal; undefined: a request to the server obtains it. */
  readonly challenge: string | undefined;
  /** Scopes that refused requests lacked. */
  readonly lackedScopes: readonly string[];
  readonly now: () => number;
}

/** The callback path, below the URL of the gateway. */
export const CALLBACK_PATH = "/oauth/callback";
/** The path of the client ID metadata document, below the URL of the gateway. */
const CLIENT_PATH = "/oauth/client.json";

/** The https URL of the gateway's client metadata document; undefined if no authorization server could fetch it. */
export const clientDocumentUrl = (baseUrl: string): string | undefined =>
  baseUrl.startsWith("https:") ? `${baseUrl}${CLIENT_PATH}` : undefined;

/** The redirect URI for a server. */
export function redirectUriOf(baseUrl: string, { auth }: SignInServer): string {
  const url = new URL(`${baseUrl}${CALLBACK_PATH}`);
  if (url.protocol === "http:" && auth.quirks.redirectHost !== undefined) {
    url.hostname = auth.quirks.redirectHost;
  }
  return url.href;
}

/**
 * Discovers and registers. A new dynamic registration is stored in the vault. The scopes are those of the config,
 * otherwise of the challenge or the server, plus all that the principal requested earlier.
 *
 * @throws OAuthError, VaultError
 */
export async function prepareSignIn(server: SignInServer, options: PrepareOptions): Promise<PreparedSignIn> {
  const { vault, baseUrl, owner, now } = options;
  const { auth, name } = server;
  const discovered = await discoveredFor(server, vault, options.challenge);
  const redirectUri = redirectUriOf(baseUrl, server);
  const { issuer } = discovered.authorizationServer;
  const kept = await vault.readClient(issuer, redirectUri);
  const client = await register({
    authorizationServer: discovered.authorizationServer,
    redirectUri,
    quirks: auth.quirks,
    fetch: fetchFor(server),
    now,
    configured: configuredClient(server),
    clientMetadataUrl: auth.clientMetadataUrl ?? clientDocumentUrl(baseUrl),
    kept,
  });
  if (client.source === "dynamic" && client !== kept) await vault.writeClient(issuer, redirectUri, client);
  const before = await vault.read(name, owner);
  // A person who agreed once is not asked again.
  const isWider = discovered.isWider === true && before?.resource !== discovered.resource;
  // A scope of another authorization server means nothing at this one.
  const asked = before?.issuer === issuer ? before.askedScopes : [];
  const wanted = [...(auth.scopes ?? []), ...(auth.scopes === undefined ? discovered.scopes : [])];
  const challenged = options.challenge === undefined ? [] : discovered.scopes;
  const scopes = [...new Set([...asked, ...wanted, ...challenged, ...options.lackedScopes])];
  return { discovered, client, redirectUri, scopes, ...(isWider && { isWider }) };
}

/** @throws OAuthError */
async function discoveredFor(
  server: SignInServer,
  vault: Pick<Vault, "readPin">,
  challenge: string | undefined,
): Promise<Discovered> {
  if (server.isIssuer !== true) return (await discoverFor(server, vault, challenge)).discovered;
  const { url, auth } = server;
  const { authorizationServer } = await discoverIssuer(url, { quirks: auth.quirks, fetch: fetchFor(server) });
  return { resource: url, authorizationServer, scopes: [] };
}

/**
 * Discovery with the config of the server, and the issuer that it is pinned to.
 *
 * @throws OAuthError, also if the server names another issuer than before
 */
export async function discoverFor(
  server: SignInServer,
  vault: Pick<Vault, "readPin">,
  challenge?: string,
  signal?: AbortSignal,
): Promise<Discovery> {
  const pin = await pinOf(vault, server);
  const found = await discoverUnpinned(server, pin, challenge, signal);
  const step = { what: "compare the issuer with the pinned one" } as const;
  try {
    checkIssuer(server, found.discovered.authorizationServer, pin);
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    const failed = { ...step, outcome: "failed", reason: error.message } as const;
    throw new OAuthError(error.message, { code: error.code, steps: [...found.steps, failed] });
  }
  return pin === undefined ? found : { ...found, steps: [...found.steps, { ...step, outcome: "ok" }] };
}

/** The steps of discovery, for `doctor`, also of one that fails. @throws VaultError */
export async function discoverySteps(
  server: SignInServer,
  vault: Pick<Vault, "readPin">,
): Promise<readonly Step[]> {
  try {
    return (await discoverFor(server, vault)).steps;
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    if (error.steps.length > 0) return error.steps;
    return [{ what: "discovery", outcome: "failed", reason: error.message }];
  }
}

/** The same, whatever the server names. @throws OAuthError */
export async function discoverUnpinned(
  server: SignInServer,
  pin: IssuerPin | undefined,
  challenge?: string,
  signal?: AbortSignal,
): Promise<Discovery> {
  const { url, auth } = server;
  const fetch = fetchFor(server);
  return discover({
    serverUrl: url,
    challenge: challenge ?? (await challengeOf(server, fetch)),
    issuer: auth.issuer,
    pinned: pin?.requested,
    resource: auth.resource,
    quirks: auth.quirks,
    fetch,
    signal,
  });
}

/** Tokens without a person are for no more than the server or `auth.resource`. @throws OAuthError */
export function checkAudience({ name, url }: SignInServer, { isWider, resource }: Discovered): void {
  if (isWider !== true) return;
  throw new OAuthError(
    `${name}: its metadata name the resource ${resource}, which is more than ${named(url)} (RFC 9728, 3.3): a token would be valid for all of it. If that is intended, set "resource": ${writeJson(resource)} in auth of this server.`,
    { code: "wider_audience" },
  );
}

/** The client from the config; undefined if there is none. */
export function configuredClient({ auth: { clientId, clientSecret, privateKey } }: SignInServer) {
  if (clientId === undefined) return undefined;
  return {
    clientId,
    ...(clientSecret !== undefined && { clientSecret }),
    ...(privateKey !== undefined && { hasKey: true }),
  };
}

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

/** The server's challenge to a request without credentials; undefined if it sends none. @throws OAuthError */
async function challengeOf(server: SignInServer, fetch: GuardedFetch): Promise<string | undefined> {
  const headers = {
    ...server.headers,
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
  };
  try {
    const answer = await fetch(server.url, { method: "POST", headers, body: PING });
    return answer.status === 401 ? (answer.headers.get("www-authenticate") ?? undefined) : undefined;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new OAuthError(`${server.name} does not say how to sign in: ${reason}`, {
      cause,
      isTemporary: true,
    });
  }
}
