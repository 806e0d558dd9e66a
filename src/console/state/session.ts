/** The sign-in of a person in this tab: with its refresh token the page gets another access token before a request fails. */

/** Kept per tab. */
export interface Session {
  readonly refreshToken: string;
  readonly clientId: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint: string;
  readonly resource: string;
}

const SESSION = "cardea-session";

/** That of this tab; undefined without a person. */
export function sessionOf(): Session | undefined {
  const text = sessionStorage.getItem(SESSION);
  return text === null ? undefined : (JSON.parse(text) as Session);
}

/** Replaces or deletes it. */
export function setSession(session: Session | undefined): void {
  if (session === undefined) sessionStorage.removeItem(SESSION);
  else sessionStorage.setItem(SESSION, JSON.stringify(session));
}

/** A refresh token works once, so several requests share its use. */
let renewing: Promise<string | undefined> | undefined;

/** Another access token; undefined if the person must sign in again, or did not. @throws TypeError if the server cannot be reached */
export function renewedToken(): Promise<string | undefined> {
  renewing ??= renew().finally(() => {
    renewing = undefined;
  });
  return renewing;
}

async function renew(): Promise<string | undefined> {
  const session = sessionOf();
  if (session === undefined) return undefined;
  const { refreshToken, clientId, tokenEndpoint, resource } = session;
  const form = { grant_type: "refresh_token", refresh_token: refreshToken, client_id: clientId, resource };
  const response = await fetch(tokenEndpoint, { method: "POST", body: new URLSearchParams(form) });
  if (!response.ok) {
    // A server that is overloaded, or has a full disk, keeps the sign-in.
    if (response.status < 500 && response.status !== 429) setSession(undefined);
    return undefined;
  }
  const answer = (await response.json()) as {
    readonly access_token: string;
    readonly refresh_token?: string;
  };
  setSession({ ...session, refreshToken: answer.refresh_token ?? refreshToken });
  return answer.access_token;
}
