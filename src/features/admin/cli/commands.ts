/** The command line of `cardea console`. */
import type { FeatureCommands } from "../../../cli/feature.js";
import { type ConfigFlags, type GatewayFlags, withConfigFlag, withGatewayFlags } from "../../../cli/flags.js";
import type { PrintFlag } from "./console.js";

/** `console`. */
export const COMMANDS: FeatureCommands = {
  place: "show",
  help: "cardea console  ",
  isShort: true,
  examples: {
    console: [
      "cardea console",
      "cardea console --print                         # for a browser that is not found from here",
    ],
  },
  add({ stateful, shell, finish }) {
    withGatewayFlags(withConfigFlag(stateful("console")))
      .description(
        "Open the console of the running gateway, unlocked for actions. The link works once, within a minute.",
      )
      .option("--print", "print the link instead of opening it (CARDEA_PRINT)")
      .action((flags: ConfigFlags & GatewayFlags & PrintFlag) =>
        finish(import("./console.js").then(({ openConsole }) => openConsole(flags, shell))),
      );
  },
};
