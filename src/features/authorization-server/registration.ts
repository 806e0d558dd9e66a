/**
 * Dynamic client registration (RFC 7591). The sealed registration is the `client_id`: nothing is stored (RFC 7591,
 * A.5.2).
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isObject, stringAt } from "../../wire/json.js";
import { sendJson } from "./answers.js";
import { checkMetadata, nameToShow, readName } from "./client-metadata.js";
import { OAuthError } from "./oauth-error.js";
import { type AllowedRedirects, readRedirectUris, stillAllowed } from "./redirect-uris.js";
import { readJson } from "./requests.js";
import type { Sealing } from "./sealing.js";
import type { HostClient, LeftOut, Now } from "./types.js";

/** Lifetime (ms) of a registration. */
export const REGISTRATION_MS = 180 * 24 * 3_600_000;
/** Maximum length: a `client_id` travels in URLs and headers. */
const MAX_ID_LENGTH = 3_000;
const PREFIX = "cardea.";

interface RegistrationSettings {
  readonly sealing: () => Promise<Sealing>;
  readonly allowed: AllowedRedirects;
  readonly now: Now;
  /** Receives why redirect URIs of a host are left out. */
  readonly onLeftOut: LeftOut;
}

/** Serves `POST /oauth/register`. @throws OAuthError */
export async function register(
  request: IncomingMessage,
  response: ServerResponse,
  { sealing, allowed, now, onLeftOut }: RegistrationSettings,
): Promise<void> {
  const metadata = await readJson(request);
  const { usable: redirectUris, leftOut } = readRedirectUris(metadata.redirect_uris, allowed);
  checkMetadata(metadata);
  const name = readName(metadata, redirectUris);
  const at = now();
  const id = `${PREFIX}${(await sealing()).seal("registration", { n: name, u: redirectUris, at })}`;
  if (id.length > MAX_ID_LENGTH)
    throw new OAuthError("invalid_redirect_uri", "the redirect URIs are too long; register fewer of them");
  if (leftOut.length > 0) onLeftOut(name, leftOut);
  sendJson(response, 201, {
    client_id: id,
    client_id_issued_at: Math.floor(at / 1000),
    client_name: name,
    redirect_uris: redirectUris,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  });
}

/** The client of a `client_id` that `register` issued, with what the config still allows; undefined for any other text. */
export function readRegistration(
  id: string,
  sealing: Sealing,
  allowed: AllowedRedirects,
  now: Now,
): HostClient | undefined {
  if (!id.startsWith(PREFIX) || id.length > MAX_ID_LENGTH) return undefined;
  const value = sealing.open("registration", id.slice(PREFIX.length));
  if (!isObject(value) || !Array.isArray(value.u) || typeof value.at !== "number") return undefined;
  const redirectUris = stillAllowed(value.u, allowed);
  return {
    id,
    name: nameToShow(stringAt(value, "n") ?? "", redirectUris),
    redirectUris,
    kind: "registered",
    isExpired: now() - value.at >= REGISTRATION_MS,
  };
}
