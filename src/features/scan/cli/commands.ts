/** The command line of `cardea scan`. */
import type { FeatureCommands } from "../../../cli/feature.js";
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
import type { ScanFlags } from "./scan.js";

/** `scan`. */
export const COMMANDS: FeatureCommands = {
  place: "show",
  help: "cardea scan  ",
  isShort: true,
  examples: {
    scan: [
      "cardea scan                                    # the servers of the config",
      "cardea scan tools.json                         # definitions in a file, such as a result of tools/list",
      "cardea scan --sarif > scan.sarif               # for code scanning",
    ],
  },
  add({ stateful, shell, finish }) {
    const command = withJsonFlag(withGatewayFlags(withConfigFlag(stateful("scan [file]"))));
    withYesFlag(command)
      .option("--sarif", "print SARIF 2.1.0 (CARDEA_SARIF)")
      .option(
        "--min-severity <level>",
        "what is found from this severity on exits with 3: low, medium or high (CARDEA_MIN_SEVERITY); default: trust.scan.minSeverity of the config, or medium",
      )
      .description(
        "Look for orders to the model, hidden text, requests for secrets and the like in what servers say of their tools. FILE is a config, or JSON with definitions.",
      )
      .action(
        (file: string | undefined, flags: ConfigFlags & JsonFlag & GatewayFlags & YesFlag & ScanFlags) =>
          finish(import("./scan.js").then(({ scan }) => scan(file, flags, shell))),
      );
  },
};
