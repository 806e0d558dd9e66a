/** Signs a person in at the authorization server of the gateway, as any public client does (RFC 6749, RFC 7636, RFC 7591). */
import { access, enterToken } from "./api.js";
import { showRoute } from "./route.js";
import { type Session, sessionOf, setSession } from "./session.js";

/** Where the gateway says that persons sign in. */
interface SignInOffer {
  readonly issuer: string;
  /** The audience of the tokens. */
  readonly resource: string;
}

interface Metadata {
  readonly issuer: string;
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
  readonly registration_endpoint: string;
  readonly revocation_endpoint: string;
}

/** What the page keeps while the person is at the authorization server. */
interface Pending extends Omit<Session, "refreshToken"> {
  readonly issuer: string;
  readonly state: string;
  readonly verifier: string;
  /** The view to come back to. */
  readonly hash: string;
}

/** In the storage of this tab. */
const PENDING = "cardea-sign-in";

/** Leads this tab to the authorization server. Never rejects: what fails is said on the page. */
export async function signIn(offer: SignInOffer): Promise<void> {
  try {
    location.assign(await begun(offer));
  } catch (error) {
    failed(error);
  }
}

/** @returns the URL of the authorization request */
async function begun({ issuer, resource }: SignInOffer): Promise<string> {
  if (crypto.subtle === undefined) throw new Error("a sign-in needs https, or an address of this machine");
  const redirectUri = `${location.origin}/`;
  const metadata = await metadataOf(issuer);
  const { client_id: clientId } = await answerOf<{ readonly client_id: string }>(
    fetch(metadata.registration_endpoint, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_name: "Cardea console", redirect_uris: [redirectUri] }),
    }),
  );
  const [state, verifier] = [randomText(), randomText()];
  const pending: Pending = {
    ...{ issuer, resource, clientId, state, verifier, hash: location.hash },
    tokenEndpoint: metadata.token_endpoint,
    revocationEndpoint: metadata.revocation_endpoint,
  };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const url = new URL(metadata.authorization_endpoint);
  const parameters = {
    ...{ response_type: "code", client_id: clientId, redirect_uri: redirectUri, state, resource },
    ...{ code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: "S256" },
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Uses the code in the address bar, if the authorization server has led this tab back. Never rejects. */
export async function finishSignIn(): Promise<void> {
  const query = new URLSearchParams(location.search);
  const text = sessionStorage.getItem(PENDING);
  if (!query.has("state") || text === null) return;
  sessionStorage.removeItem(PENDING);
  const pending = JSON.parse(text) as Pending;
  // Neither the address bar nor the history keeps the code.
  history.replaceState(null, "", `${location.pathname}${pending.hash}`);
  showRoute();
  try {
    await redeem(query, pending);
  } catch (error) {
    failed(error);
  }
}

async function redeem(query: URLSearchParams, pending: Pending): Promise<void> {
  const { issuer, state, verifier, clientId, tokenEndpoint, revocationEndpoint, resource } = pending;
  // RFC 9207: an answer of another server is not used.
  if (query.get("state") !== state || query.get("iss") !== issuer)
    throw new Error("the answer is not that of the sign-in of this tab");
  const code = query.get("code");
  if (code === null)
    throw new Error(query.get("error_description") ?? query.get("error") ?? "there is no code");
  const form = {
    ...{ grant_type: "authorization_code", code, code_verifier: verifier, client_id: clientId, resource },
    redirect_uri: `${location.origin}/`,
  };
  const answer = await answerOf<{ readonly access_token: string; readonly refresh_token?: string }>(
    fetch(tokenEndpoint, { method: "POST", body: new URLSearchParams(form) }),
  );
  const { access_token: token, refresh_token: refreshToken } = answer;
  enterToken(token);
  if (refreshToken !== undefined)
    setSession({ refreshToken, clientId, tokenEndpoint, revocationEndpoint, resource });
}

/** Ends the sign-in at the authorization server too; a server that cannot be reached lets it expire. */
export async function endSession(): Promise<void> {
  const session = sessionOf();
  setSession(undefined);
  if (session === undefined) return;
  const { refreshToken, clientId, revocationEndpoint } = session;
  const body = new URLSearchParams({ token: refreshToken, client_id: clientId });
  await fetch(revocationEndpoint, { method: "POST", body }).catch(() => {});
}

/** RFC 8414, 3: the well-known path stands before that of the issuer. */
async function metadataOf(issuer: string): Promise<Metadata> {
  const { origin, pathname } = new URL(issuer);
  const url = `${origin}/.well-known/oauth-authorization-server${pathname.replace(/\/$/, "")}`;
  const metadata = await answerOf<Metadata>(fetch(url));
  if (metadata.issuer !== issuer) throw new Error(`${url} is of another issuer`);
  return metadata;
}

async function answerOf<Answer>(sent: Promise<Response>): Promise<Answer> {
  const response = await sent.catch(() => {
    throw new Error(
      "the authorization server of the gateway cannot be reached from this page; listen.http.allowedOrigins must name the origin of the console",
    );
  });
  const answer = (await response.json()) as Answer & { readonly error_description?: string };
  if (!response.ok) throw new Error(answer.error_description ?? `it answered ${response.status}`);
  return answer;
}

function failed(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  access.set({ signInTrouble: `The sign-in has failed: ${text}.` });
}

const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));
const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
