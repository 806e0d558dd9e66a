/** The token and revocation endpoints: exchanges codes and refresh tokens for tokens, and revokes them. */

import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { PERSON_ISSUER } from "../../core/claims.js";
import type { Logger } from "../../core/logger.js";
import { endpointOf, resourceOfEndpoint } from "../../http/resources.js";
import { sendJson } from "./answers.js";
import { askedEndpoint, scopesIn } from "./authorization-requests.js";
import { isDocumentUrl } from "./client-documents.js";
import { type Clients, clientKeyOf } from "./clients.js";
import type { Grants, Renewed } from "./grants.js";
import { OAuthError } from "./oauth-error.js";
import { type Parameters, readForm, required } from "./requests.js";
import type { SigningKeys } from "./signing-keys.js";
import type { Grant, HostSignIn, Now } from "./types.js";

interface TokenEndpointOptions {
  readonly clients: Clients;
  readonly grants: Grants;
  readonly keys: SigningKeys;
  readonly issuer: string;
  /** The URL of the gateway, the audience of the tokens unless a host asks for one endpoint. */
  readonly resource: string;
  /** Lifetime (ms) of an access token. */
  readonly accessTokenMs: number;
  readonly now: Now;
  readonly logger: Logger;
  /** Receives each sign-out. */
  readonly onSignIn: (event: HostSignIn) => void;
}

/** `/oauth/token` and `/oauth/revoke`. */
export class TokenEndpoint {
  readonly #options: TokenEndpointOptions;

  constructor(options: TokenEndpointOptions) {
    this.#options = options;
  }

  /** @throws OAuthError */
  async token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { grants, resource } = this.#options;
    const form = await readForm(request);
    const client = await this.#clientOf(form);
    const target = form.get("resource");
    const endpoint = askedEndpoint(target, resource);
    // A grant is bound to its resource; a part of that can be asked for (RFC 8707, 2.2).
    const audienceOf = (grant: Grant): string => {
      const granted = endpointOf(grant.resource, resource);
      if (granted === undefined)
        throw new OAuthError("invalid_grant", "the gateway has another URL now; sign in again");
      if (target === undefined) return grant.resource;
      if (granted !== "" && granted !== endpoint)
        throw new OAuthError("invalid_target", `resource must be ${grant.resource}`);
      return resourceOfEndpoint(resource, endpoint);
    };
    const type = required(form, "grant_type");
    if (type === "authorization_code") {
      const redemption = {
        code: required(form, "code"),
        client,
        redirectUri: required(form, "redirect_uri"),
        verifier: required(form, "code_verifier"),
      };
      const renewed = await grants.redeem(redemption, audienceOf);
      const { grant } = renewed;
      return this.#answer(response, renewed, { scopes: grant.scopes, audience: audienceOf(grant) });
    }
    if (type === "refresh_token") {
      const asked = form.get("scope");
      const token = required(form, "refresh_token");
      const renewed = await grants.refresh(token, client, (grant) => {
        audienceOf(grant);
        narrowed(grant.scopes, asked);
      });
      const { grant } = renewed;
      const scopes = narrowed(grant.scopes, asked);
      return this.#answer(response, renewed, { scopes, audience: audienceOf(grant) });
    }
    throw new OAuthError("unsupported_grant_type", "grant_type must be authorization_code or refresh_token");
  }

  /** RFC 7009. An access token cannot be revoked; it is valid for minutes. @throws OAuthError */
  async revoke(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { grants, logger, onSignIn } = this.#options;
    const form = await readForm(request);
    const client = await this.#clientOf(form);
    const token = required(form, "token");
    if (/^eyJ[\w-]*\.eyJ[\w-]*\.[\w-]+$/.test(token))
      throw new OAuthError(
        "unsupported_token_type",
        "access tokens end by themselves; revoke the refresh token",
      );
    const ended = await grants.revoke(token, client);
    if (ended !== undefined) {
      logger.info(
        { principal: ended.subject, client: ended.clientName },
        `${ended.subject} has signed out, in "${ended.clientName}"`,
      );
      onSignIn({ outcome: "signed_out", principal: ended.subject, host: ended.clientName });
    }
    sendJson(response, 200, {});
  }

  async #answer(
    response: ServerResponse,
    { grant, refreshToken }: Renewed,
    { scopes, audience }: { readonly scopes: readonly string[]; readonly audience: string },
  ): Promise<void> {
    const { clients, keys, issuer, accessTokenMs, now, logger } = this.#options;
    clients.trust(grant.client);
    const { subject, groups, client, clientName, expiresAt, personIssuer } = grant;
    const issued = Math.floor(now() / 1000);
    const expires = Math.floor(Math.min(now() + accessTokenMs, expiresAt) / 1000);
    const claims = { iss: issuer, sub: subject, aud: audience, client_id: client, groups: [...groups] };
    const scope = scopes.join(" ");
    const accessToken = await keys.sign({
      ...claims,
      ...(scope !== "" && { scope }),
      ...(personIssuer !== undefined && { [PERSON_ISSUER]: personIssuer }),
      ...{ iat: issued, exp: expires, jti: randomBytes(16).toString("hex") },
    });
    logger.debug({ principal: subject, client: clientName, scopes }, "tokens issued");
    sendJson(response, 200, {
      access_token: accessToken,
      token_type: "Bearer",
      expires_in: expires - issued,
      refresh_token: refreshToken,
      scope,
    });
  }

  /** The client that sent the form; all clients are public (`none`). @throws OAuthError `invalid_client` */
  async #clientOf(form: Parameters): Promise<string> {
    const { clients } = this.#options;
    const id = required(form, "client_id");
    // Its document was read for the consent page; grants are bound to its URL.
    if (isDocumentUrl(id)) return clientKeyOf(id);
    const { isExpired } = await clients.registered(id);
    if (isExpired)
      throw new OAuthError(
        "invalid_client",
        "the registration of this host has expired: it must register again",
        {
          status: 401,
        },
      );
    return clientKeyOf(id);
  }
}

/** @throws OAuthError `invalid_scope` if `asked` exceeds the grant (RFC 6749, 6) */
function narrowed(granted: readonly string[], asked: string | undefined): readonly string[] {
  if (asked === undefined) return granted;
  const scopes = scopesIn(asked);
  const more = scopes.filter((scope) => !granted.includes(scope));
  if (more.length > 0)
    throw new OAuthError("invalid_scope", "these scopes were not granted; a new sign-in can ask for more");
  return scopes;
}
