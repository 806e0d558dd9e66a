/** An operator accepts the authorization server that a server names now (`cardea login --accept-issuer`). */

import type { IssuerPin } from "../vault/types.js";
import { VaultError } from "../vault/vault-error.js";
import { type ShownPin, shownPin } from "./login-rows.js";
import { changeOf, newPin, pinOf } from "./pinned-issuer.js";
import { discoverUnpinned } from "./prepare-sign-in.js";
import { type SignInContext, serverConfigured } from "./sign-in-context.js";
import { SignInRefusal } from "./sign-in-refusal.js";

/** The pin from now on. */
export interface AcceptedIssuer extends ShownPin {
  readonly server: string;
  /** The one before; absent if there was none. */
  readonly before?: ShownPin;
  /** Whether it differs from the one before. */
  readonly isChanged: boolean;
  /** Whether a person signs in at this server, or the gateway itself. */
  readonly needsPerson: boolean;
}

/**
 * Pins what the server names now. Stored sign-ins at the issuer before stay until that refuses them.
 *
 * @throws SignInRefusal for a server without a sign-in, OAuthError if discovery fails, VaultError
 */
export async function acceptIssuer(context: SignInContext, name: string): Promise<AcceptedIssuer> {
  const { vault, now, events } = context;
  const server = serverConfigured(context, name);
  const { issuer: configured, type } = server.auth;
  if (server.isIssuer === true || type === "token_exchange") {
    throw new SignInRefusal(`The issuer of ${name} is that of the config; there is none to accept.`, 409);
  }
  if (configured !== undefined) {
    throw new SignInRefusal(
      `The config names the issuer of ${name} (auth.issuer: ${configured}). Change it there.`,
      409,
    );
  }
  const before = await pinOf(vault, server).catch(ifReadable);
  const { discovered } = await discoverUnpinned(server, undefined);
  const found = discovered.authorizationServer;
  const pin = newPin(server, found, "operator", now());
  await vault.writePin(pin);
  events.issuerAccepted(name, pin.issuer, before?.issuer);
  return {
    ...shownPin(pin),
    server: name,
    ...(before !== undefined && { before: shownPin(before) }),
    isChanged: before === undefined || changeOf(before, found) !== undefined,
    needsPerson: type !== "client_credentials" && type !== "private_key_jwt",
  };
}

/** A pin that cannot be read is replaced. */
function ifReadable(error: unknown): IssuerPin | undefined {
  if (error instanceof VaultError && error.fault !== "store") return undefined;
  throw error;
}
