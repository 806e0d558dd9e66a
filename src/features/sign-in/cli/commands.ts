/** The command lines of `cardea login`, `cardea logout` and `cardea logins`. */

import type { CommandLine, FeatureCommands } from "../../../cli/feature.js";
import {
  type ConfigFlags,
  type GatewayFlags,
  type JsonFlag,
  withConfigFlag,
  withGatewayFlags,
  withJsonFlag,
  withYesFlag,
  type YesFlag,
} from "../../../cli/flags.js";
import type { LoginFlags } from "./login.js";

/** All three. */
export const COMMANDS: FeatureCommands = {
  place: "use",
  help: "  cardea login SERVER [--as ID] [--no-browser] [--device]    cardea logout | logins",
  examples: {
    login: [
      "cardea login linear",
      "cardea login linear --as alice --no-browser",
      "cardea login github --device",
    ],
    logout: ["cardea logout linear", "cardea logout linear --as alice"],
    logins: ["cardea logins", "cardea logins --json"],
  },
  add: addSignInCommands,
};

function addSignInCommands({ stateful, shell, finish }: CommandLine): void {
  withYesFlag(withGatewayFlags(withConfigFlag(stateful("login"))))
    .description(
      "Sign in to a server: prints the address of the sign-in, opens a browser if there is one, and reads from standard input the address that a browser elsewhere ended at.",
    )
    .argument("<server>", "the server's name")
    .option(
      "--as <id>",
      "the principal of the sign-in (CARDEA_AS); default: anonymous if the gateway does not authenticate hosts",
    )
    .option("--no-browser", "open no browser (CARDEA_NO_BROWSER)")
    .option(
      "--device",
      "sign in with a code on another device, if the server's issuer supports the device grant (CARDEA_DEVICE)",
    )
    .option(
      "--accept-issuer",
      "accept the issuer that the server names now, instead of the pinned one (CARDEA_ACCEPT_ISSUER)",
    )
    .option(
      "--accept-audience",
      "accept tokens that are valid for more than the server's URL (CARDEA_ACCEPT_AUDIENCE)",
    )
    .action((server: string, flags: LoginFlags & ConfigFlags & GatewayFlags & YesFlag) =>
      finish(import("./login.js").then(({ login }) => login(server, flags, shell))),
    );

  withGatewayFlags(withConfigFlag(stateful("logout")))
    .description("Sign out of a server: revokes its tokens if possible, and deletes them.")
    .argument("<server>", "the server's name")
    .option(
      "--as <id>",
      "the principal of the sign-in (CARDEA_AS); default: anonymous if the gateway does not authenticate hosts",
    )
    .action((server: string, flags: { readonly as?: string } & ConfigFlags & GatewayFlags) =>
      finish(import("./logins.js").then(({ logout }) => logout(server, flags, shell))),
    );

  withJsonFlag(withGatewayFlags(withConfigFlag(stateful("logins"))))
    .description("Show the sign-ins: principal, server, permissions, expiry. Never a token.")
    .action((flags: JsonFlag & ConfigFlags & GatewayFlags) =>
      finish(import("./logins.js").then(({ logins }) => logins(flags, shell))),
    );
}
