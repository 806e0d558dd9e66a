/** Stores the tokens of a finished sign-in in the vault, before they are used. */

import type { Credential, TokenSet, Vault } from "../vault/types.js";
import type { PreparedSignIn, SignInSubject } from "./pending-content.js";
import { endpointsOf } from "./sign-in-server.js";

/** The record of a sign-in without its generation. */
export const credentialOf = (
  { server, principal }: SignInSubject,
  prepared: PreparedSignIn,
  scopes: readonly string[],
  grant: Credential["grant"],
  tokens: TokenSet,
): Omit<Credential, "generation"> => ({
  server,
  principal,
  ...endpointsOf(prepared),
  grant,
  tokens,
  askedScopes: scopes,
});

/**
 * Writes the record as the next generation, under its lock. Resolves to the previous record.
 *
 * @throws VaultError; the previous record stays
 */
export function storeTokens(
  vault: Pick<Vault, "read" | "write" | "locked">,
  credential: Omit<Credential, "generation">,
): Promise<Credential | undefined> {
  const { server, principal } = credential;
  return vault.locked(server, principal, async () => {
    const before = await vault.read(server, principal);
    await vault.write({ ...credential, generation: (before?.generation ?? 0) + 1 });
    return before;
  });
}
