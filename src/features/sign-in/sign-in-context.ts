/** The dependencies that all parts of signing in share. */

import { writeJson } from "../../wire/json-text.js";
import type { Vault } from "../vault/types.js";
import type { PendingRecords } from "./pending-records.js";
import type { SignInEvents } from "./sign-in-events.js";
import { SignInRefusal } from "./sign-in-refusal.js";
import type { SignInServer } from "./sign-in-server.js";

/** The shared dependencies. */
export interface SignInContext {
  readonly vault: Vault;
  readonly pending: PendingRecords;
  readonly events: SignInEvents;
  /**
   * The server of the live config, or the company's issuer of one, by its URL; undefined if no person signs in there.
   */
  readonly serverOf: (name: string) => SignInServer | undefined;
  /** Where a person with a token is identified; undefined if the config names no client for that. Default: nowhere. */
  readonly identity?: () => SignInServer | undefined;
  /** The URL of the gateway for browsers, without a slash at its end. */
  readonly baseUrl: () => string;
  /** The scopes that refused requests of `owner` at the server lacked. Default: none. */
  readonly lackedScopes?: (server: string, owner: string) => readonly string[];
  /** ms since 1970. */
  readonly now: () => number;
}

/** @throws SignInRefusal if the config has no such server, or no person signs in there */
export function serverNamed(context: Pick<SignInContext, "serverOf">, name: string): SignInServer {
  const server = serverConfigured(context, name);
  const { type } = server.auth;
  if (type === "client_credentials" || type === "private_key_jwt") {
    throw new SignInRefusal(
      `${name} needs no person: the gateway signs in itself ("auth.type": "${type}").`,
      409,
    );
  }
  return server;
}

/** @throws SignInRefusal if the config has no such server with a sign-in, of a person or of the gateway */
export function serverConfigured({ serverOf }: Pick<SignInContext, "serverOf">, name: string): SignInServer {
  const server = serverOf(name);
  if (server === undefined) {
    throw new SignInRefusal(
      `There is no server ${writeJson(name)} in the config with an OAuth sign-in. Check mcpServers in the config.`,
      404,
    );
  }
  return server;
}
