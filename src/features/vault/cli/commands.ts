/** The command line of `cardea vault rotate`. */
import type { Command } from "commander";
import { UsageError } from "../../../cli/exit.js";
import type { CommandLine, FeatureCommands } from "../../../cli/feature.js";
import { type ConfigFlags, type JsonFlag, withConfigFlag, withJsonFlag } from "../../../cli/flags.js";

/** `vault rotate`. */
export const COMMANDS: FeatureCommands = {
  place: "keep",
  help: "cardea vault  rotate   ",
  isShort: true,
  examples: {
    vault: ["cardea vault rotate"],
    "vault rotate": [
      "cardea vault rotate                            # a new key, in the state directory",
      "cardea vault rotate --config cardea.jsonc      # its credentials.key has the new key before the old one",
    ],
  },
  add: addVaultCommands,
};

function addVaultCommands({ stateful, shell, finish }: CommandLine): void {
  const vault = stateful("vault")
    .description("The stored sign-ins at servers, encrypted in the state directory.")
    .helpCommand(false);
  vault.action(() => {
    throw new UsageError("a command is missing after vault\n(cardea vault --help lists them)");
  });
  withJsonFlag(withConfigFlag(vault.command("rotate")))
    .description(
      "Encrypt everything under the first key of credentials in the config; without one, under a new key in the state directory.",
    )
    .action((_: ConfigFlags & JsonFlag, command: Command) =>
      finish(import("./rotate.js").then(({ rotateVault }) => rotateVault(command.optsWithGlobals(), shell))),
    );
}
