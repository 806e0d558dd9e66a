/** Client registration: dynamic (RFC 7591), with lenient parsing of responses, or by a client ID metadata document. */

import { isLoopback } from "../../../http/loopback.js";
import { FetchError, type GuardedFetch, named } from "../../../outgoing/guarded-fetch.js";
import { isObject, type JsonObject, numberOf, stringAt } from "../../../wire/json.js";
import { parseJson, writeJson } from "../../../wire/json-text.js";
import type { ClientRegistration } from "../../vault/types.js";
import type { AuthorizationServer, Quirks } from "../types.js";
import { OAuthError, quotedText, reasonOf } from "./oauth-error.js";

/** Input of a dynamic registration. */
export interface DynamicRegistrationOptions {
  readonly authorizationServer: AuthorizationServer;
  readonly redirectUri: string;
  readonly quirks?: Quirks | undefined;
  readonly fetch: GuardedFetch;
  readonly signal?: AbortSignal | undefined;
  /** ms since 1970. */
  readonly now: () => number;
}

type AuthMethod = "none" | "client_secret_basic" | "client_secret_post";

/**
 * Registers a client for one redirect URI. The result belongs to this issuer and redirect URI.
 *
 * @throws OAuthError with what to do; `isTemporary` after 5xx or no connection
 */
export async function registerDynamically(options: DynamicRegistrationOptions): Promise<ClientRegistration> {
  const { authorizationServer, redirectUri, quirks = {}, fetch, signal, now } = options;
  const { metadata, issuer } = authorizationServer;
  const endpoint = String(metadata.registration_endpoint);
  const type = applicationType(redirectUri);
  const body = {
    client_name: quirks.clientName ?? CLIENT_NAME,
    redirect_uris: [redirectUri],
    application_type: type,
    grant_types: grantTypes(metadata),
    response_types: ["code"],
    token_endpoint_auth_method: authMethod(metadata, type === "native"),
  };
  const at = `${issuer} (${named(endpoint)})`;
  let response: Response;
  let text: string;
  try {
    const headers = { "content-type": "application/json" };
    response = await fetch(endpoint, { method: "POST", headers, body: writeJson(body), signal });
    text = await response.text();
  } catch (cause) {
    const sentence = `The gateway could not be registered at ${at}: ${reasonOf(cause)}.`;
    const isBlocked = cause instanceof FetchError && cause.kind === "blocked";
    throw new OAuthError(sentence, { cause, isTemporary: !isBlocked });
  }
  const answer = objectIn(text);
  const clientId = stringAt(answer, "client_id");
  const isCreated = response.status === 200 || response.status === 201;
  if (!isCreated || clientId === undefined || clientId === "") {
    throw refused(answer, response.status, at, redirectUri);
  }
  return readRegistration(answer ?? {}, clientId, now());
}

/** Undefined if the text is not a JSON object. */
function objectIn(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";

/** Always `refresh_token` (SEP-2207); the device grant if it is offered. */
function grantTypes(metadata: AuthorizationServer["metadata"]): readonly string[] {
  const hasDevices = typeof metadata.device_authorization_endpoint === "string";
  return ["authorization_code", "refresh_token", ...(hasDevices ? [DEVICE_CODE] : [])];
}

/** A client on a laptop keeps no secret; a client with a public URL requests a secret if possible. */
function authMethod(metadata: AuthorizationServer["metadata"], isNative: boolean): AuthMethod {
  const supported = metadata.token_endpoint_auth_methods_supported;
  const preferred: readonly AuthMethod[] = isNative
    ? ["none", "client_secret_basic", "client_secret_post"]
    : ["client_secret_basic", "client_secret_post", "none"];
  if (!Array.isArray(supported)) return "none";
  return preferred.find((method) => supported.includes(method)) ?? "none";
}

function readRegistration(answer: JsonObject, clientId: string, registeredAt: number): ClientRegistration {
  const clientSecret = stringAt(answer, "client_secret");
  const hasSecret = clientSecret !== undefined && clientSecret !== "";
  const method = stringAt(answer, "token_endpoint_auth_method");
  const expires = numberOf(answer.client_secret_expires_at);
  return {
    clientId,
    ...(hasSecret && { clientSecret }),
    tokenEndpointAuthMethod: methodOf(method, hasSecret),
    source: "dynamic",
    registeredAt,
    // 0: it never expires (RFC 7591, 3.2.1).
    ...(hasSecret && expires !== undefined && expires > 0 && { secretExpiresAt: expires * 1000 }),
  };
}

/** The method in the response; if missing or implausible, the one that fits the secret. */
function methodOf(method: string | undefined, hasSecret: boolean): AuthMethod {
  if (!hasSecret) return "none";
  return method === "client_secret_post" || method === "none" ? method : "client_secret_basic";
}

function refused(
  answer: JsonObject | undefined,
  status: number,
  at: string,
  redirectUri: string,
): OAuthError {
  const error = stringAt(answer, "error");
  const description = stringAt(answer, "error_description");
  if (status >= 500 || status === 429) {
    const sentence = `The gateway could not be registered at ${at}: it answered ${status}.`;
    return new OAuthError(sentence, { isTemporary: true });
  }
  const said = [error, description].filter((part) => part !== undefined).map((part) => quotedText(part));
  const aboutRedirect = error === "invalid_redirect_uri" || /redirect/i.test(description ?? "");
  const why = said.length > 0 ? said.join(": ") : `the answer (${status}) has no client_id`;
  if (aboutRedirect) {
    return new OAuthError(
      `${at} does not accept the redirect URI ${redirectUri} (${why}). Set listen.http.publicUrl, or the quirk redirect-host: localhost, or register the gateway there by hand and set auth.clientId.`,
      { quirk: "redirect-host: localhost" },
    );
  }
  const isListed = status === 403 || /allow|approv|list|client_name|name/i.test(description ?? "");
  const name = isListed ? " If it accepts only listed names, set the quirk client-name." : "";
  return new OAuthError(
    `${at} did not register the gateway (${why}).${name} Register it there by hand and set auth.clientId; if the server needs no OAuth, set auth.type to none and configure a header.`,
    isListed ? { quirk: "client-name: NAME" } : {},
  );
}

/** Members of the document besides the names. */
export interface ClientMetadataDocumentOptions {
  /** The https URL, with a path, of the document; it is the client id. */
  readonly url: string;
  readonly redirectUris: readonly string[];
  /** Default: `Cardea`. */
  readonly clientName?: string;
  /** A page about this gateway. */
  readonly clientUri?: string;
}

/**
 * The document that the gateway serves about itself (draft-ietf-oauth-client-id-metadata-document; SEP-991).
 *
 * @throws OAuthError if the URL is not https: or has no path
 */
export function clientMetadataDocument(
  options: ClientMetadataDocumentOptions,
): Readonly<Record<string, unknown>> {
  const { url, redirectUris, clientName = CLIENT_NAME, clientUri } = options;
  const { protocol, pathname, hash } = new URL(url);
  if (protocol !== "https:" || pathname === "/" || hash !== "") {
    throw new OAuthError(`${url}: a client ID metadata document needs an https URL with a path`);
  }
  return {
    client_id: url,
    client_name: clientName,
    ...(clientUri !== undefined && { client_uri: clientUri }),
    redirect_uris: redirectUris,
    application_type: applicationType(redirectUris[0] ?? url),
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
}

/** The client name of the gateway at authorization servers. */
const CLIENT_NAME = "Cardea";

/** SEP-837: `native` if the redirect goes to loopback, `web` for a public host. */
function applicationType(redirectUri: string): "native" | "web" {
  return isLoopback(new URL(redirectUri).hostname) ? "native" : "web";
}
