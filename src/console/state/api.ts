/** Requests to the admin listener, with the token of this tab. */
import { renewedToken, setSession } from "./session.js";
import { Store } from "./store.js";

/** Who has the token of this tab, as the listener knows it. */
interface Me {
  readonly principal?: string;
  readonly role?: "operator" | "viewer" | "person";
  /** Where persons sign in; absent where the page cannot lead them there. */
  readonly signIn?: { readonly issuer: string; readonly resource: string };
}

/** The admin listener requires a token, or rejected it. */
export class TokenNeeded extends Error {
  override readonly name = "TokenNeeded";
}

/** The listener refused a request; the message is for the operator. */
export class Refused extends Error {
  override readonly name = "Refused";
}

/** Stored per tab, and sent by this script only. */
const TOKEN = "cardea-admin-token";

/** Whether there is a token, whether the pages are locked, and whether the last token was rejected. */
export const access = new Store<{
  readonly hasToken: boolean;
  readonly isLocked: boolean;
  readonly isWrong: boolean;
  readonly me: Me;
  readonly signInTrouble: string | undefined;
}>({
  hasToken: sessionStorage.getItem(TOKEN) !== null,
  isLocked: false,
  isWrong: false,
  me: {},
  signInTrouble: undefined,
});

/** Replaces the token of the tab. */
export function enterToken(text: string): void {
  sessionStorage.setItem(TOKEN, text.trim());
  setSession(undefined);
  access.set({ hasToken: true, isLocked: false, isWrong: false, signInTrouble: undefined });
}

/** Deletes a token that the listener rejected. */
export function dropToken(): void {
  const isWrong = sessionStorage.getItem(TOKEN) !== null;
  sessionStorage.removeItem(TOKEN);
  access.set({ hasToken: false, isWrong });
}

/** Reads who asks, with the token of this tab or without one. Never rejects: an older gateway does not say. */
export async function readMe(): Promise<Me> {
  const me = await getPage<Me>("me").catch((): Me => ({}));
  access.set({ me });
  return me;
}

/**
 * Requests `path` with the token.
 *
 * @throws TokenNeeded at 401, and for a token that no header can carry; TypeError if the gateway cannot be reached
 */
export async function send(path: string, options: RequestInit = {}): Promise<Response> {
  const token = sessionStorage.getItem(TOKEN);
  if (token !== null && !/^[!-~]+$/.test(token)) throw new TokenNeeded();
  const headers = new Headers(options.headers);
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  const response = await fetch(path, { ...options, headers });
  if (response.status !== 401) return response;
  const renewed = token === null ? undefined : await renewedToken();
  if (renewed === undefined) throw new TokenNeeded();
  sessionStorage.setItem(TOKEN, renewed);
  headers.set("authorization", `Bearer ${renewed}`);
  const again = await fetch(path, { ...options, headers });
  if (again.status === 401) throw new TokenNeeded();
  return again;
}

/** The JSON of the page `/api/v1/NAME`. @throws TokenNeeded, Refused, TypeError */
export async function getPage<Page>(name: string, signal?: AbortSignal): Promise<Page> {
  const response = await send(
    `/api/v1${name === "" ? "" : "/"}${name}`,
    signal === undefined ? {} : { signal },
  );
  return (await jsonOf(response, name)) as Page;
}

/** Sends an action: a POST with a JSON body. @throws TokenNeeded, Refused, TypeError */
export async function postAction<Answer>(name: string, body: object): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  const response = await send(`/api/v1/${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  return (await jsonOf(response, name)) as Answer;
}

async function jsonOf(response: Response, name: string): Promise<unknown> {
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Refused(`/api/v1/${name} answered ${response.status} without JSON`);
  }
  if (response.ok) return json;
  const said = (json as { error?: unknown }).error;
  throw new Refused(typeof said === "string" ? said : `/api/v1/${name} answered ${response.status}`);
}
