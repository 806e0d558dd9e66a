/**
 * Dynamic client registration (RFC 7591). The sealed registration is the `client_id`: nothing is stored (RFC 7591,
 * A.5.2).
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isObject, type JsonObject, stringAt } from "../wire/json.js";
import { sendJson } from "./answers.js";
import { OAuthError } from "./oauth-error.js";
import type { RateLimit } from "./rate-limit.js";
import { type AllowedHosts, readRedirectUris, stillAllowed } from "./redirect-uris.js";
import { addressOf, readJson } from "./requests.js";
import type { Sealing } from "./sealing.js";
import type { HostClient, Now } from "./types.js";

/** Lifetime (ms) of a registration. */
export const REGISTRATION_MS = 180 * 24 * 3_600_000;
/** Maximum length: a `client_id` travels in URLs and headers. */
const MAX_ID_LENGTH = 3_000;
const MAX_NAME_LENGTH = 100;
const PREFIX = "cardea.";

interface RegistrationSettings {
  readonly sealing: () => Promise<Sealing>;
  readonly allowed: AllowedHosts;
  readonly limit: RateLimit;
  readonly now: Now;
}

/** Serves `POST /oauth/register`. @throws OAuthError */
export async function register(
  request: IncomingMessage,
  response: ServerResponse,
  { sealing, allowed, limit, now }: RegistrationSettings,
): Promise<void> {
  const retryAfterS = limit.take(addressOf(request));
  if (retryAfterS !== undefined) {
    throw new OAuthError("temporarily_unavailable", "too many registrations; try again later", {
      status: 429,
      retryAfterS,
    });
  }
  const metadata = await readJson(request);
  const redirectUris = readRedirectUris(metadata.redirect_uris, allowed);
  checkMethods(metadata);
  const name = readName(metadata);
  const at = now();
  const id = `${PREFIX}${(await sealing()).seal("registration", { n: name, u: redirectUris, at })}`;
  if (id.length > MAX_ID_LENGTH)
    throw new OAuthError("invalid_redirect_uri", "the redirect URIs are too long; register fewer of them");
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
  allowed: AllowedHosts,
  now: Now,
): HostClient | undefined {
  if (!id.startsWith(PREFIX) || id.length > MAX_ID_LENGTH) return undefined;
  const value = sealing.open("registration", id.slice(PREFIX.length));
  if (!isObject(value) || !Array.isArray(value.u) || typeof value.at !== "number") return undefined;
  return {
    id,
    name: stringAt(value, "n") ?? "",
    redirectUris: stillAllowed(value.u, allowed),
    kind: "registered",
    isExpired: now() - value.at >= REGISTRATION_MS,
  };
}

/** The client name as one line without invisible characters. @throws OAuthError `invalid_client_metadata` */
export function readName(metadata: JsonObject): string {
  const name = stringAt(metadata, "client_name")?.trim() ?? "";
  if (name === "") return "An application without a name";
  // Bidi, joiner and control characters could disguise a name.
  if (name.length > MAX_NAME_LENGTH || /[\p{C}\p{Zl}\p{Zp}]/u.test(name)) {
    throw new OAuthError(
      "invalid_client_metadata",
      `client_name must have at most ${MAX_NAME_LENGTH} characters, none of them hidden`,
    );
  }
  return name;
}

/** @throws OAuthError `invalid_client_metadata` if the host needs something that is not supported */
function checkMethods(metadata: JsonObject): void {
  const types: unknown = metadata.grant_types;
  if (types !== undefined && !(Array.isArray(types) && types.includes("authorization_code")))
    throw new OAuthError("invalid_client_metadata", "grant_types must have authorization_code");
  const responses: unknown = metadata.response_types;
  if (responses !== undefined && !(Array.isArray(responses) && responses.includes("code")))
    throw new OAuthError("invalid_client_metadata", "response_types must have code");
}
