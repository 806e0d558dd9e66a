/** Token revocation (RFC 7009). */
import { revocationRequest } from "oauth4webapi";
import { clientAuthentication } from "./client-authentication.js";
import { quotedText, reasonOf } from "./oauth-error.js";
import { metadataOf, requestOptions, type TokenRequestContext } from "./token-request.js";

/** Whether the token is known to be revoked. */
export type RevocationOutcome =
  | { readonly kind: "revoked" }
  | { readonly kind: "failed"; readonly reason: string };

/**
 * Revokes a token. Revoke the refresh token if there is one: most servers then end its access tokens too.
 *
 * @returns never rejects for a response of the server
 */
export async function revokeToken(
  context: TokenRequestContext,
  revocationEndpoint: string,
  token: string,
  hint: "access_token" | "refresh_token",
): Promise<RevocationOutcome> {
  const { client } = context;
  const authentication = clientAuthentication(client, context.quirks, context.signingKey);
  try {
    const { status } = await revocationRequest(
      metadataOf(context, { revocation_endpoint: revocationEndpoint }),
      { client_id: client.clientId },
      authentication,
      token,
      { ...requestOptions(context), additionalParameters: { token_type_hint: hint } },
    );
    // RFC 7009, 2.2: an unknown token gets 200 too. Some servers send 204.
    if (status >= 200 && status < 300) return { kind: "revoked" };
    return { kind: "failed", reason: `the revocation endpoint answered ${status}` };
  } catch (error) {
    return { kind: "failed", reason: quotedText(reasonOf(error), [token, client.clientSecret ?? ""]) };
  }
}
