/** The command lines of `cardea lock` and `cardea approve`. */
import type { CommandLine, FeatureCommands } from "../../../cli/feature.js";
import {
  type ConfigFlags,
  type JsonFlag,
  withConfigFlag,
  withJsonFlag,
  withYesFlag,
  type YesFlag,
} from "../../../cli/flags.js";
import type { CheckFlags, FreshFlag } from "./lock.js";

const FRESH = "start the servers, even if a gateway with this config is running (CARDEA_FRESH)";
const FRESH_LOCK =
  "start all servers, even if a gateway with this config is running, and with --check those whose package has the approved version (CARDEA_FRESH)";

/** `lock` and `approve`. */
export const COMMANDS: FeatureCommands = {
  place: "keep",
  help: "  cardea lock [SERVER] [--check] | approve SERVER [NAME]     what servers may say",
  examples: {
    lock: [
      "cardea lock                   # writes cardea.lock beside the config: review it, and commit it",
      "cardea lock --check           # for CI: exits with 3 when a server differs from the file",
      "cardea lock --check --fresh   # starts those with an approved package and version, too",
      "cardea lock files             # approves all that the server files says now",
    ],
    approve: [
      "cardea approve files                # shows what differs, and asks",
      "cardea approve files search --yes   # the tool search of the server files",
      "cardea approve files instructions",
    ],
  },
  add: addTrustCommands,
};

function addTrustCommands({ stateful, shell, finish }: CommandLine): void {
  withYesFlag(withJsonFlag(withConfigFlag(stateful("lock"))))
    .description(
      "Write the definitions of all servers into cardea.lock beside the config, or compare them with it.",
    )
    .argument("[server]", "only this server; default: all")
    .option(
      "--check",
      "write nothing; exit with 0 if nothing differs, with 3 if something does (CARDEA_CHECK)",
    )
    .option("--fresh", FRESH_LOCK)
    .action((server: string | undefined, flags: ConfigFlags & JsonFlag & YesFlag & CheckFlags & FreshFlag) =>
      finish(import("./lock.js").then(({ lock }) => lock(server, flags, shell))),
    );
  withConfigFlag(stateful("approve"))
    .description("Show in what a server differs from cardea.lock, and write that into the file.")
    .argument("<server>", "the server, by its key in the config")
    .argument("[name]", "a tool, prompt, resource or template by its own name; or instructions, name, start")
    .option("--yes", "write it without a question (CARDEA_YES)")
    .option("--fresh", FRESH)
    .action((server: string, name: string | undefined, flags: ConfigFlags & YesFlag & FreshFlag) =>
      finish(import("./approve.js").then(({ approve }) => approve(server, name, flags, shell))),
    );
}
