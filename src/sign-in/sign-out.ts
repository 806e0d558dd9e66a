/** Signs a principal out of a server: the tokens are revoked where that is possible, and forgotten in any case. */
import { revokeToken } from "./oauth/client.js";
import type { SignInSubject } from "./pending-content.js";
import type { SignInContext } from "./sign-in-context.js";
import { tokenContext } from "./sign-in-server.js";
import type { Credential } from "./types.js";

/** What has become of the tokens. */
export interface SignedOut {
  /** False where the principal was not signed in. */
  readonly wasSignedIn: boolean;
  /** Whether the authorization server has ended the tokens. */
  readonly isRevoked: boolean;
  /** Why it has not: a sentence's end. */
  readonly reason?: string;
}

/** @throws VaultError where the record cannot be removed */
export async function signOut(context: SignInContext, subject: SignInSubject): Promise<SignedOut> {
  const { vault, events } = context;
  const { server, principal } = subject;
  return vault.locked(server, principal, async () => {
    // A record that cannot be read can be forgotten all the same.
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

/** Undefined where the tokens have ended; else why not. */
async function revoke(context: SignInContext, credential: Credential): Promise<string | undefined> {
  const { server: name, tokens, revocationEndpoint, issuer } = credential;
  const server = context.serverOf(name);
  if (tokens === undefined) return undefined;
  if (server === undefined) return `${name} is not in the config any more`;
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
    // Many servers end only refresh tokens, and their access tokens with them.
    if (outcome.kind === "failed" && (hint === "refresh_token" || refreshToken === undefined)) {
      failure = outcome.reason;
    }
  }
  return failure;
}
