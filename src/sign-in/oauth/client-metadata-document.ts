/** The client ID metadata document of the gateway (SEP-991, SEP-837). */
import { isLoopback } from "../../http/loopback.js";
import { OAuthError } from "./oauth-error.js";

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
export const CLIENT_NAME = "Cardea";

/** SEP-837: `native` if the redirect goes to loopback, `web` for a public host. */
export function applicationType(redirectUri: string): "native" | "web" {
  return isLoopback(new URL(redirectUri).hostname) ? "native" : "web";
}
