/** Signs a principal out of a server: revokes the tokens if possible, and deletes them in any case. */

import type { Credential } from "../vault/types.js";
import { revokeToken } from "./oauth/client.js";
import { isFor } from "./owned-record.js";
import type { SignInSubject } from "./pending-content.js";
import type { SignInContext } from "./sign-in-context.js";
import { tokenContext } from "./sign-in-server.js";

/** The outcome of a sign-out. */
export interface SignedOut {
  /** False if the principal was not signed in. */
  readonly wasSignedIn: boolean;
  /** Whether the authorization server has revoked the tokens. */
  readonly isRevoked: boolean;
  /** Why it has not: the end of a sentence. */
  readonly reason?: string;
}

/** @throws VaultError if the record cannot be deleted */
export async function signOut(context: SignInContext, subject: SignInSubject): Promise<SignedOut> {
  const { vault, events } = context;
  const { server, principal } = subject;
  return vault.locked(server, principal, async () => {
    // A record that cannot be read can still be deleted.
    const credential = await vault.read(server, principal).catch(() => "unreadable" as const);
    if (credential === undefined) return { wasSignedIn: false, isRevoked: false };
    await vault.remove(server, principal);
    const issuer = credential === "unreadable" ? {} : { issuer: credential.issuer };
    events.happened("signed_out", subject, issuer);
    if (credential === "unreadable") {
      return { wasSignedIn: true, isRevoked: false, reason: "its record could not be read" };
    }
    const reason = await revoke(context, credential);
    return { wasSignedIn: true, isRevoked: reason === undefined, ...(reason !== undefined && { reason }) };
  });
}

/** Undefined if the tokens are revoked; otherwise the reason. */
async function revoke(context: SignInContext, credential: Credential): Promise<string | undefined> {
  const { server: name, tokens, revocationEndpoint, issuer } = credential;
  const server = context.serverOf(name);
  if (tokens === undefined) return undefined;
  if (server === undefined) return `${name} is no longer in the config`;
  const isSigned = credential.client.tokenEndpointAuthMethod === "private_key_jwt";
  // The key of the config is not for the issuer of another server that had this name.
  if (isSigned && !isFor(server, credential)) return `${issuer} is not the issuer of ${name} in the config`;
  if (revocationEndpoint === undefined)
    return `${issuer} has no revocation endpoint; the tokens end by themselves`;
  const { accessToken, refreshToken } = tokens;
  const requests = [
    ...(refreshToken === undefined ? [] : [["refresh_token", refreshToken] as const]),
    ["access_token", accessToken] as const,
  ];
  let failure: string | undefined;
  for (const [hint, token] of requests) {
    const outcome = await revokeToken(
      await tokenContext(server, credential, context.now),
      revocationEndpoint,
      token,
      hint,
    );
    // Many servers revoke only refresh tokens, and the access tokens with them.
    if (outcome.kind === "failed" && (hint === "refresh_token" || refreshToken === undefined)) {
      failure = outcome.reason;
    }
  }
  return failure;
}
