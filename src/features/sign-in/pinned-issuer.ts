/**
 * Binds a server to the first authorization server that it named: no other one gets a secret, an assertion, a code, a
 * refresh token or a person's browser, until an operator accepts it.
 */

import type { IssuerPin, Vault } from "../vault/types.js";
import { OAuthError } from "./oauth/client.js";
import type { SignInServer } from "./sign-in-server.js";
import type { AuthorizationServer } from "./types.js";

/** The part of the vault that keeps the pins. */
export type PinVault = Pick<Vault, "readPin" | "updatePin">;

/** The members of the metadata that get secrets, or open in a browser. */
const ENDPOINTS = [
  ...["token_endpoint", "authorization_endpoint", "device_authorization_endpoint"],
  ...["revocation_endpoint", "registration_endpoint"],
] as const;

/** The pin of a server; undefined before its first sign-in, and for an issuer from the config. @throws VaultError */
export function pinOf(vault: Pick<Vault, "readPin">, server: SignInServer): Promise<IssuerPin | undefined> {
  return server.isIssuer === true ? Promise.resolve(undefined) : vault.readPin(server.name, originOf(server));
}

/**
 * The authorization server must be that of the config (`auth.issuer`), or the pinned one. Without either it is a first
 * contact, which sends nothing yet.
 *
 * @throws OAuthError that names both issuers and what to do
 */
export function checkIssuer(
  server: SignInServer,
  found: AuthorizationServer,
  pin: IssuerPin | undefined,
): void {
  const { issuer: configured } = server.auth;
  if (server.isIssuer === true) return;
  if (configured === undefined) {
    const changed = pin === undefined ? undefined : changeOf(pin, found);
    if (changed !== undefined) throw new OAuthError(refusalOf(server, changed), { code: "issuer_changed" });
    return;
  }
  if (isSameIssuer(requestedOf(found), configured)) return;
  throw new OAuthError(
    `${server.name}: the config names the issuer ${configured} now, and this sign-in was begun at ${found.issuer}. Sign in again.`,
    { code: "issuer_changed" },
  );
}

/**
 * Called right before the first secret, code or assertion is sent: pins the authorization server, or compares it with
 * the pinned one.
 *
 * @throws OAuthError as `checkIssuer`, VaultError
 */
export async function pinIssuer(
  vault: PinVault,
  server: SignInServer,
  found: AuthorizationServer,
  now: number,
): Promise<void> {
  if (server.isIssuer === true) return;
  const by = server.auth.issuer === undefined ? "first_use" : "config";
  await vault.updatePin(server.name, originOf(server), (kept) => {
    checkIssuer(server, found, kept);
    if (kept !== undefined && changeOf(kept, found) === undefined && isComplete(kept, found)) return kept;
    const origin = by === "first_use" ? (kept?.by ?? by) : by;
    return newPin(server, found, origin, now);
  });
}

/** The pin of this authorization server. */
export const newPin = (
  server: SignInServer,
  found: AuthorizationServer,
  by: IssuerPin["by"],
  now: number,
): IssuerPin => ({
  server: server.name,
  origin: originOf(server),
  issuer: found.issuer,
  requested: requestedOf(found),
  endpoints: endpointsOf(found),
  by,
  pinnedAt: now,
});

/** What differs from the pin: the start of a sentence; undefined if nothing does. */
export function changeOf(pin: IssuerPin, found: AuthorizationServer): string | undefined {
  const since = pin.pinnedAt === 0 ? "an earlier version" : new Date(pin.pinnedAt).toISOString().slice(0, 10);
  // A record of an earlier version does not say whose metadata was requested.
  const isRequested = pin.by === "record" || isSameIssuer(pin.requested, requestedOf(found));
  if (!isSameIssuer(pin.issuer, found.issuer) || !isRequested) {
    const shown = isSameIssuer(pin.issuer, found.issuer) ? requestedOf(found) : found.issuer;
    return `it names the authorization server ${shown}, and its sign-ins are pinned to ${pin.issuer} (since ${since})`;
  }
  // Endpoints that the pin does not have may be where its others are, or at the issuer.
  const known = new Set([...Object.values(pin.endpoints), new URL(pin.requested).origin]);
  for (const [name, origin] of Object.entries(endpointsOf(found))) {
    const pinned = pin.endpoints[name];
    const isNew = pinned === undefined && (pin.by === "record" || known.has(origin));
    if (pinned === origin || isNew) continue;
    const before = pinned === undefined ? "was not there" : `was at ${pinned}`;
    return `the ${name} of ${found.issuer} is at ${origin} now, and ${before} when it was pinned (since ${since})`;
  }
  return undefined;
}

const refusalOf = ({ name }: SignInServer, change: string): string =>
  `${name}: ${change}. No credentials were sent there. If that is intended, run "cardea login ${name} --accept-issuer", or set auth.issuer for this server.`;

/** The origins of the endpoints; their URLs were checked with the metadata. */
function endpointsOf({ metadata }: AuthorizationServer): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ENDPOINTS.flatMap((name) => {
      const url = metadata[name];
      return typeof url === "string" && URL.canParse(url) ? [[name, new URL(url).origin]] : [];
    }),
  );
}

const isComplete = (pin: IssuerPin, found: AuthorizationServer): boolean =>
  Object.keys(endpointsOf(found)).every((name) => pin.endpoints[name] !== undefined);

const requestedOf = ({ issuer, requested = issuer }: AuthorizationServer): string => requested;

/** Whether two issuers are the same; a slash at the end is the same host and path. */
export const isSameIssuer = (one: string, other: string): boolean =>
  withoutSlash(one) === withoutSlash(other);
const withoutSlash = (url: string): string => url.replace(/\/$/, "");

const originOf = ({ url }: SignInServer): string => new URL(url).origin;
