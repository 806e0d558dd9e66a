/** The command line of `cardea tokens`. */
import type { FeatureCommands } from "../../../cli/feature.js";
import {
  type AsFlags,
  type ConfigFlags,
  type GatewayFlags,
  type JsonFlag,
  withAsFlags,
  withConfigFlag,
  withGatewayFlags,
  withJsonFlag,
  withYesFlag,
  type YesFlag,
} from "../../../cli/flags.js";

/** `tokens`. */
export const COMMANDS: FeatureCommands = {
  place: "show",
  help: "cardea tokens  ",
  isShort: true,
  examples: {
    tokens: [
      "cardea tokens",
      "cardea tokens --as ci                          # of the tools that the principal ci is shown",
      "cardea tokens --json | jq '.savings'",
    ],
  },
  add({ stateful, shell, finish }) {
    withYesFlag(withJsonFlag(withGatewayFlags(withAsFlags(withConfigFlag(stateful("tokens"))))))
      .description(
        "Show what the definitions of tools cost a model, which of them were not called since the gateway started, and how to reduce it.",
      )
      .action((flags: ConfigFlags & JsonFlag & AsFlags & GatewayFlags & YesFlag) =>
        finish(import("./tokens.js").then(({ tokens }) => tokens(flags, shell))),
      );
  },
};
