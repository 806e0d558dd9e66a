/** The setup commands `init`, `add`, `remove` and `install`, with their flags. */
import { Argument, type Command } from "commander";
import type { AddFlags } from "./add.js";
import { withAddFlags } from "./added-entry.js";
import type { CommandContext } from "./command-context.js";
import { type ConfigFlags, withConfigFlag } from "./flags.js";
import { KNOWN_HOSTS } from "./host-files/known-hosts.js";
import type { InitFlags } from "./init.js";
import type { InstallFlags } from "./install.js";

/** Adds the commands; `command` holds the words after `--`, if there are any. */
export function addSetupCommands(
  program: Command,
  shell: CommandContext,
  finish: (work: Promise<number>) => Promise<void>,
  command: readonly string[] | undefined,
): void {
  withAddFlags(program.command("init"), "init", shell)
    .description("Write a config with the servers of the hosts that are installed here; overwrites nothing.")
    .option(
      "--from <file>",
      "take this host's file instead; may be given again (CARDEA_FROM, one a line)",
      listed,
    )
    .option("--out <file>", "the file to write; default: cardea.jsonc (CARDEA_OUT)")
    .option("--yes", "do not prompt; take all servers that are found (CARDEA_YES)")
    .option("--plain", "write secrets into the config instead of an env file beside it (CARDEA_PLAIN)")
    .action((flags: InitFlags) => finish(import("./init.js").then(({ init }) => init(flags, shell))));

  withAddFlags(withConfigFlag(program.command("add")), "add", shell)
    .description(
      "Add a server to the config, which keeps its comments: a command behind --, a URL, or a registry's server.json.",
    )
    .argument("[name]", "what the server is called; not needed with a server.json")
    .argument("[source]", "its URL; or the file, the URL or the name in the registry of a server.json")
    .option(
      "--env <pair>",
      "an environment variable of the server, K=V; may be given again (CARDEA_ENV, one a line)",
      listed,
    )
    .option(
      "--header <header>",
      "a header for every request, 'Name: value'; may be given again (CARDEA_HEADER, one a line)",
      listed,
    )
    .option(
      "--registry <url>",
      "where names are looked up; default: registry in the config (CARDEA_REGISTRY)",
    )
    .option("--plain", "write secrets into the config instead of an env file beside it (CARDEA_PLAIN)")
    .option(
      "--yes",
      "do not prompt; take what a server.json asks for from the environment, if it is set (CARDEA_YES)",
    )
    .usage("[options] NAME -- CMD ARGS… | NAME URL | [NAME] SERVER.JSON")
    .action((name: string | undefined, source: string | undefined, flags: AddFlags & ConfigFlags) =>
      finish(import("./add.js").then(({ add }) => add({ name, source, command }, flags, shell))),
    );

  withConfigFlag(program.command("remove"))
    .description("Remove a server from the config, which keeps its comments.")
    .argument("<name>", "the server's name")
    .action((name: string, flags: ConfigFlags) =>
      finish(import("./remove.js").then(({ remove }) => remove(name, flags, shell))),
    );

  withConfigFlag(program.command("install"))
    .description("Write Cardea into the file of a host, which keeps its comments; a backup stays beside it.")
    .addArgument(
      // The command itself refuses an unknown word and names the most similar one.
      new Argument("<host>", "the host").choices(KNOWN_HOSTS.map(({ id }) => id)).argParser((word) => word),
    )
    .option("--dry-run", "show what would change and write nothing (CARDEA_DRY_RUN)")
    .option(
      "--url <url>",
      "the gateway to connect to; default: the one that runs, else the config over stdio (CARDEA_INSTALL_URL)",
    )
    .option(
      "--header <header>",
      "a header for that URL, 'Name: value'; may be given again (CARDEA_HEADER, one a line)",
      listed,
    )
    .option("--replace", "take out of the file the servers that the config has too (CARDEA_REPLACE)")
    .option("--undo", "take back what was written, and leave what others changed since (CARDEA_UNDO)")
    .action((host: string, flags: InstallFlags & ConfigFlags) =>
      finish(import("./install.js").then(({ install }) => install(host, flags, shell))),
    );
}

const listed = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
];
