/** What the gateway says about itself as a client (SEP-991, SEP-837). */
import { isLoopback } from "../../http/loopback.js";
import { OAuthError } from "./oauth-error.js";

/** What the client ID metadata document says beside the names. */
export interface ClientMetadataDocumentOptions {
  /** The https URL, with a path, at which the document is served; it is the client's id. */
  readonly url: string;
  readonly redirectUris: readonly string[];
  /** Default: `Cardea`. */
  readonly clientName?: string;
  /** Page about this gateway. */
  readonly clientUri?: string;
}

/**
 * The document that the gateway serves about itself (draft-ietf-oauth-client-id-metadata-document; SEP-991).
 *
 * @throws OAuthError where the URL is not https: or has no path
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

/** The name of the gateway at authorization servers. */
export const CLIENT_NAME = "Cardea";

/** SEP-837: `native` where the browser comes back to loopback, `web` for a public host. */
export function applicationType(redirectUri: string): "native" | "web" {
  return isLoopback(new URL(redirectUri).hostname) ? "native" : "web";
}
