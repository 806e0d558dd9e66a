/** Validates what a host says of itself (RFC 7591, 2), in a registration or a client metadata document. */
import { isObject, type JsonObject } from "../../wire/json.js";
import { nameForPeople } from "../../wire/readable-text.js";
import { OAuthError } from "./oauth-error.js";
import { destinationOf } from "./redirect-uris.js";

const MAX_NAME_LENGTH = 100;
const MAX_TEXT_LENGTH = 2_000;

/** Characters that disguise a name or end its line; others that cannot be seen are left out of it. */
const DISGUISE = /[\p{Cc}\p{Cs}\p{Bidi_Control}\p{Zl}\p{Zp}]/u;

/** The name for people. @throws OAuthError `invalid_client_metadata` */
export function readName({ client_name }: JsonObject, redirectUris: readonly string[]): string {
  if (client_name === undefined || client_name === null) return "An application without a name";
  if (typeof client_name !== "string") throw refused("client_name must be a string");
  const name = client_name.trim();
  if (name === "") return "An application without a name";
  if (name.length > MAX_NAME_LENGTH || DISGUISE.test(name))
    throw refused(`client_name must have at most ${MAX_NAME_LENGTH} characters, none of them hidden`);
  return nameToShow(name, redirectUris);
}

/** `name` as it is shown; a name of which nothing can be seen says where the sign-in leads instead. */
export function nameToShow(name: string, redirectUris: readonly string[]): string {
  const [first] = redirectUris;
  const where = first === undefined ? "" : ` (${destinationOf(first)})`;
  return nameForPeople(name, `An application without a readable name${where}`);
}

/** Members whose values are texts, lists of texts, or URLs for people and keys. */
const TEXTS = [
  ...["token_endpoint_auth_method", "scope", "software_id", "software_version", "software_statement"],
  "application_type",
];
const LISTS = ["grant_types", "response_types", "contacts"];
const URLS = ["client_uri", "logo_uri", "tos_uri", "policy_uri", "jwks_uri"];

/**
 * Checks the types of all members that the RFC names, though most are not used: a host with an error in them should learn
 * it here. An absent value may also be null, or an empty text where a URL is meant.
 *
 * @throws OAuthError `invalid_client_metadata` with the member and the reason
 */
export function checkMetadata(metadata: JsonObject): void {
  for (const name of TEXTS) {
    const value: unknown = metadata[name] ?? "";
    if (typeof value !== "string" || value.length > MAX_TEXT_LENGTH)
      throw refused(`${name} must be a string`);
  }
  for (const name of LISTS) {
    const value: unknown = metadata[name] ?? [];
    if (!Array.isArray(value) || !value.every((each) => typeof each === "string"))
      throw refused(`${name} must be a list of strings`);
  }
  for (const name of URLS) {
    const value: unknown = metadata[name] ?? "";
    if (value !== "" && !isWebUrl(value)) throw refused(`${name} must be an absolute https or http URL`);
  }
  const { jwks, grant_types: grants, response_types: responses } = metadata;
  if (jwks !== undefined && jwks !== null && !isObject(jwks)) throw refused("jwks must be an object");
  if (Array.isArray(grants) && !grants.includes("authorization_code"))
    throw refused("grant_types must have authorization_code");
  if (Array.isArray(responses) && !responses.includes("code")) throw refused("response_types must have code");
}

/** Never `file:`, `data:`, `javascript:`, `blob:` or another scheme, also not for a lenient parser. */
const isWebUrl = (value: unknown): boolean =>
  typeof value === "string" &&
  value.length <= MAX_TEXT_LENGTH &&
  /^https?:\/\/[^/\\@\s]+(?:[/?#]|$)/i.test(value) &&
  URL.canParse(value);

const refused = (message: string): OAuthError => new OAuthError("invalid_client_metadata", message);
