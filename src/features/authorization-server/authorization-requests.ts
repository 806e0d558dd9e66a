/** Validates authorization requests: PKCE with S256, this resource, known scopes. */

import { endpointOf } from "../../http/resources.js";
import { clientKeyOf } from "./clients.js";
import { OAuthError } from "./oauth-error.js";
import type { Parameters } from "./requests.js";
import { required } from "./requests.js";
import type { AuthorizationRequest, HostClient } from "./types.js";

/** The scopes and resource that can be granted. */
export interface Offer {
  /** The audience of the tokens. */
  readonly resource: string;
  /** Granted to every token. */
  readonly requiredScopes: readonly string[];
  readonly offeredScopes: readonly string[];
}

/** Longer values do not fit into a cookie. */
const MAX_STATE_LENGTH = 1_000;

/** `state` if it can be returned; undefined if it is missing or invalid. */
export function readState(query: Parameters): string | undefined {
  const state = query.get("state");
  return state !== undefined && state.length <= MAX_STATE_LENGTH && /^[\x20-\x7e]*$/.test(state)
    ? state
    : undefined;
}

/** Checks everything except client and redirect URI, which were checked before. @throws OAuthError */
export function readAuthorizationRequest(
  query: Parameters,
  client: HostClient,
  redirectUri: string,
  { resource, requiredScopes, offeredScopes }: Offer,
): AuthorizationRequest {
  if (client.isExpired)
    throw new OAuthError(
      "unauthorized_client",
      "the registration of this host has expired: it must register again",
    );
  if (required(query, "response_type") !== "code")
    throw new OAuthError("unsupported_response_type", "response_type must be code");
  if ((query.get("response_mode") ?? "query") !== "query")
    throw new OAuthError("invalid_request", "response_mode must be query");
  if (query.has("request") || query.has("request_uri"))
    throw new OAuthError("invalid_request", "request objects are not supported");
  if (query.get("prompt") === "none")
    throw new OAuthError("consent_required", "a person must be asked here each time");
  checkPkce(query);
  const endpoint = askedEndpoint(query.get("resource"), resource);
  const state = readState(query);
  if (query.has("state") && state === undefined)
    throw new OAuthError(
      "invalid_request",
      `state must have at most ${MAX_STATE_LENGTH} characters of ASCII`,
    );
  const asked = scopesIn(query.get("scope"));
  // Unknown scopes are ignored; the token response lists the granted ones (RFC 6749, 3.3).
  const granted = new Set([...requiredScopes, ...asked.filter((scope) => offeredScopes.includes(scope))]);
  return {
    client: clientKeyOf(client.id),
    clientName: client.name,
    redirectUri,
    ...(state !== undefined && { state }),
    ...(endpoint !== "" && { endpoint }),
    scopes: [...granted],
    challenge: required(query, "code_challenge"),
  };
}

function checkPkce(query: Parameters): void {
  // A missing method would mean `plain` (RFC 7636, 4.3).
  if (query.get("code_challenge_method") !== "S256")
    throw new OAuthError("invalid_request", "code_challenge_method must be S256 (PKCE)");
  if (!/^[\w-]{43}$/.test(required(query, "code_challenge")))
    throw new OAuthError("invalid_request", "code_challenge is no SHA-256 in base64url (PKCE)");
}

/**
 * The endpoint that the parameter `resource` names, "" for the whole gateway. Hosts of 2025-03-26 do not know the parameter.
 *
 * @throws OAuthError `invalid_target` if `asked` is another resource (RFC 8707)
 */
export function askedEndpoint(asked: string | undefined, resource: string): string {
  const endpoint = asked === undefined ? "" : endpointOf(asked, resource);
  if (endpoint === undefined)
    throw new OAuthError("invalid_target", `resource must be ${resource}, or one of its endpoints`);
  return endpoint;
}

/** The space-separated values of `scope`. */
export const scopesIn = (text: string | undefined): readonly string[] =>
  text === undefined ? [] : [...new Set(text.split(" ").filter((scope) => scope !== ""))];
