/** Whether a record of the vault is one of the server that the config has now. */

import type { Credential } from "../vault/types.js";
import { audienceOf, isSameResource } from "./oauth/client.js";
import { isSameIssuer } from "./pinned-issuer.js";
import type { SignInServer } from "./sign-in-server.js";

/**
 * Its tokens must be for the server's URL, which another config may have under the same name, and from the issuer of the
 * config, if that names one.
 */
export function isFor(server: SignInServer, { resource, issuer }: Credential): boolean {
  const { auth, url } = server;
  const isResource =
    audienceOf(resource, url) !== "other" ||
    (auth.resource !== undefined && isSameResource(resource, auth.resource));
  if (!isResource) return false;
  const expected = auth.type === "token_exchange" ? auth.idp?.issuer : auth.issuer;
  return expected === undefined || isSameIssuer(issuer, expected) || issuer === auth.quirks.issuer;
}
