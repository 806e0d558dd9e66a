/** The command line of `cardea audit`. */

import { UsageError } from "../../../cli/exit.js";
import type { CommandLine, FeatureCommands } from "../../../cli/feature.js";
import { type ConfigFlags, type JsonFlag, withConfigFlag, withJsonFlag } from "../../../cli/flags.js";
import type { ShowFlags } from "./audit.js";

/** `audit verify` and `audit show`. */
export const COMMANDS: FeatureCommands = {
  place: "keep",
  help: "  cardea audit  verify FILE | show [--as ID] [--since 1h]    who did what",
  examples: {
    audit: ["cardea audit verify audit.jsonl", "cardea audit show --since 1h"],
    "audit verify": [
      "cardea audit verify audit.jsonl",
      "cardea audit verify audit.jsonl --config cardea.json",
    ],
    "audit show": [
      "cardea audit show --as ann --since 1h",
      "cardea audit show audit.jsonl --kind approval --json",
    ],
  },
  add: addAuditCommands,
};

function addAuditCommands({ program, shell, finish }: CommandLine): void {
  const audit = program
    .command("audit")
    .description("The audit log: verify it, and show its lines.")
    .helpCommand(false);
  audit.action(() => {
    throw new UsageError("a command is missing after audit\n(cardea audit --help lists them)");
  });
  withJsonFlag(withConfigFlag(audit.command("verify")))
    .description(
      "Find a changed byte, a removed line, a truncated end or a swapped file, and print its position. Exits with 1 if there is one. A log with a key is verified with that of --config or CARDEA_AUDIT_KEY.",
    )
    .argument(
      "<file>",
      "the file that audit.file names; rotated files and those of workers are found beside it",
    )
    .action((file: string, flags: ConfigFlags & JsonFlag) =>
      finish(import("./audit.js").then(({ auditVerify }) => auditVerify(file, flags, shell))),
    );
  withJsonFlag(withConfigFlag(audit.command("show")))
    .description("Show the lines of the log, oldest first.")
    .argument("[file]", "the file; default: audit.file of the config")
    .option("--as <id>", "only events of this principal (CARDEA_AS)")
    .option("--since <time>", "only since then: 30m, 1h, 7d or a date (CARDEA_SINCE)")
    .option("--server <name>", "only events about this server (CARDEA_SERVER)")
    .option(
      "--kind <kind>",
      "only lines of this kind: call, question, approval, reload, admin, sign_in, start, stop (CARDEA_KIND)",
    )
    .action((file: string | undefined, flags: ShowFlags & ConfigFlags & JsonFlag) =>
      finish(import("./audit.js").then(({ auditShow }) => auditShow(file, flags, shell))),
    );
}
