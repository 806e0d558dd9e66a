/** `cardea logins` and `cardea logout`: lists and ends sign-ins. */

import { type CommandContext, write } from "../../../cli/command-context.js";
import { EXIT } from "../../../cli/exit.js";
import { type ConfigFlags, type GatewayFlags, type JsonFlag, wantsJson } from "../../../cli/flags.js";
import type { LoginRow } from "../local-sign-ins.js";
import { failed, principalOf } from "./login.js";
import { openDesk } from "./sign-ins-of-command.js";

/** Prints the sign-ins, without tokens. @returns the exit code */
export async function logins(
  flags: JsonFlag & ConfigFlags & GatewayFlags,
  shell: CommandContext,
): Promise<number> {
  const json = wantsJson(flags, shell.env);
  const log = await shell.openLog();
  const opened = await openDesk(flags, shell, log);
  if (opened === undefined) return EXIT.config;
  try {
    const rows = await opened.desk.logins();
    await write(shell.stdout, json ? `${JSON.stringify(rows, undefined, 2)}\n` : rows.map(lineOf).join(""));
    if (rows.length === 0 && !json)
      await write(shell.stderr, "There are no sign-ins; cardea login SERVER makes one.\n");
    return EXIT.done;
  } catch (error) {
    return failed(error, log);
  } finally {
    await opened.close();
  }
}

/** Revokes and deletes the tokens. @returns the exit code */
export async function logout(
  server: string,
  flags: { readonly as?: string } & ConfigFlags & GatewayFlags,
  shell: CommandContext,
): Promise<number> {
  const log = await shell.openLog();
  const opened = await openDesk(flags, shell, log);
  if (opened === undefined) return EXIT.config;
  try {
    const as = principalOf(server, flags, shell, opened.config);
    const { wasSignedIn, isRevoked, reason } = await opened.desk.signOut(server, as);
    if (!wasSignedIn) log.warn({ server, principal: as }, `${as} was not signed in to ${server}`);
    else {
      const how = isRevoked ? "its tokens are revoked" : `its tokens are deleted, not revoked: ${reason}`;
      log.info({ server, principal: as }, `${as} is signed out of ${server}; ${how}`);
    }
    return EXIT.done;
  } catch (error) {
    return failed(error, log);
  } finally {
    await opened.close();
  }
}

const HOW_REGISTERED = {
  config: "auth.clientId",
  metadata_document: "client document",
  dynamic: "registered",
};

const HOW_PINNED = {
  first_use: "pinned at first use",
  record: "pinned",
  operator: "pinned by an operator",
  config: "auth.issuer",
};

/** How the server is bound to its issuer, and to which if that is another one than that of the tokens. */
const pinText = (pin: LoginRow["pin"]): string =>
  pin === undefined ? "-" : `${HOW_PINNED[pin.by]}: ${pin.issuer}`;

function lineOf({
  server,
  principal,
  state,
  issuer,
  scopes,
  client,
  expiresAt,
  isRenewed,
  pin,
}: LoginRow): string {
  const until =
    state === "needs_sign_in"
      ? "needs a sign-in"
      : isRenewed
        ? "renews itself"
        : expiresAt === undefined
          ? "until it is refused"
          : `until ${expiresAt}`;
  const granted = scopes.length > 0 ? scopes.join(" ") : "-";
  return `${[server, principal, until, issuer, granted, HOW_REGISTERED[client], pinText(pin)].join("\t")}\n`;
}
