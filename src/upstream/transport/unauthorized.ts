/** What does a 401 ask for: a sign-in by OAuth, or other credentials than those of the config? */
const QUOTED = /"(?:[^"\\]|\\.)*"/g;
/** A word that begins a challenge is not followed by `=` (RFC 9110, 11.6.1). */
const SCHEME = /(?:^|,)[ \t]*([A-Za-z][A-Za-z0-9-]{0,30})(?=[ \t]+[^ \t=]|[ \t]*(?:,|$))/g;
/** A scheme that is shown: a word of a hostile server might be a key. */
const SHOWN = /^[A-Za-z][A-Za-z-]{1,19}$/;
const MAX_SHOWN = 3;
const MAX_READ = 2_000;

/** The authentication schemes of `WWW-Authenticate`, as the server writes them. */
function schemesIn(challenge: string): readonly string[] {
  const text = challenge.slice(0, MAX_READ).replace(QUOTED, '""');
  return [...new Set([...text.matchAll(SCHEME)].map(([, scheme = ""]) => scheme))];
}

/** Whether the challenge asks for a token of OAuth (RFC 6750). */
export const asksForBearer = (challenge: string | undefined): boolean =>
  challenge !== undefined && schemesIn(challenge).some((scheme) => scheme.toLowerCase() === "bearer");

/** What the operator reads of a 401 that asks for no sign-in. `hasCredentials`: whether the config can have given some. */
export function describeUnauthorized(challenge: string | undefined, hasCredentials: boolean): string {
  const shown = schemesIn(challenge ?? "").filter((scheme) => SHOWN.test(scheme));
  const schemes = shown.slice(0, MAX_SHOWN).join(" or ");
  const asked = schemes === "" ? "" : ` and asks for ${schemes}`;
  const none = hasCredentials ? "" : ' (there are none: put them into "headers")';
  return `answered 401 Unauthorized${asked}: the credentials in the config were refused${none}`;
}

/** Whether the config may have credentials for the server at `url`: in headers, in the URL, or in its query. */
export function mayHaveCredentials(url: string, headers: Readonly<Record<string, string>>): boolean {
  if (Object.keys(headers).length > 0) return true;
  if (!URL.canParse(url)) return false;
  const { username, search } = new URL(url);
  return username !== "" || search !== "";
}
