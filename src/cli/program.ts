/** The command line: commands, flags, and the function behind each command. */
import { Argument, Command, CommanderError } from "commander";
import { type CommandContext, write } from "./command-context.js";
import { checkWords, HINT, splitCommand } from "./command-words.js";
import { completion, SHELLS } from "./completion.js";
import { EXAMPLES } from "./examples.js";
import { EXIT, UsageError } from "./exit.js";
import type { AfterFlag } from "./explain.js";
import type { CommandLine, CommandPlace } from "./feature.js";
import {
  type AsFlags,
  type ConfigFlags,
  type GatewayFlags,
  type JsonFlag,
  type ReapFlag,
  type StrictFlag,
  withAsFlags,
  withConfigFlag,
  withGatewayFlags,
  withJsonFlag,
  withListenFlags,
  withReapFlag,
  withStateFlag,
  withStrictFlag,
  withYesFlag,
  type YesFlag,
} from "./flags.js";
import { helpText, packageVersion } from "./help.js";
import type { KeyFlags } from "./key.js";
import type { ListFlags } from "./list.js";
import type { ServeFlags } from "./serve.js";
import { addSetupCommands } from "./setup-commands.js";
import type { WatchFlag } from "./status.js";
import type { TailFlags } from "./tail.js";

/** Runs the command in `argv` (without node and script), and resolves to the exit code. */
export async function runCommandLine(argv: readonly string[], shell: CommandContext): Promise<number> {
  let code: number = EXIT.done;
  const complaints: string[] = [];
  const printed: string[] = [];
  const finish = async (work: Promise<number>): Promise<void> => {
    code = await work;
  };
  const { words, command } = splitCommand(argv);
  const program = commandLine(shell, finish, command)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => printed.push(text),
      writeErr: (text) => complaints.push(text),
    });
  for (const inner of [...program.commands, ...program.commands.flatMap(({ commands }) => commands)]) {
    inner.copyInheritedSettings(program);
  }
  try {
    checkWords(words, program);
    await program.parseAsync([...words], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) code = error.exitCode === 0 ? EXIT.done : EXIT.usage;
    else if (error instanceof UsageError) {
      complaints.push(`error: ${error.message}\n`);
      code = EXIT.usage;
    } else throw error;
  }
  await write(shell.stdout, printed.join(""));
  await write(shell.stderr, complaints.join(""));
  return code;
}

const LIST_WORDS = ["tools", "prompts", "resources", "templates"];
const ARGUMENTS = "name=text and name:=json, or one JSON object";

type Finish = (work: Promise<number>) => Promise<void>;

/** In the order of `cardea --help`. */
function commandLine(shell: CommandContext, finish: Finish, command: readonly string[] | undefined): Command {
  const program = new Command("cardea")
    .helpCommand(false)
    .version(packageVersion(), "-V, --version")
    .showHelpAfterError(`(${HINT})`);
  const { features } = shell;
  program.helpInformation = () => helpText(features);
  program.action(() => {
    throw new UsageError(`a command is missing\n\n${helpText(features)}`);
  });
  const stateful = (name: string): Command =>
    withStateFlag(program.command(name), (folder) => shell.useStateFolder(folder));
  const line: CommandLine = { program, stateful, shell, finish };
  const addOf = (place: CommandPlace): void => {
    for (const { commands } of features) if (commands?.place === place) commands.add(line);
  };
  addSetupCommands(program, shell, finish, command);
  addServingCommands(line, command);
  addCheckingCommands(line);
  addListCommand(line);
  addWatchingCommands(line);
  addOf("show");
  addCallingCommands(line);
  addOf("use");
  addPrintingCommands(line);
  addKeyCommands(program, shell, finish);
  addOf("keep");
  program
    .command("completion")
    .description("Print a shell completion script for commands and flags.")
    .addArgument(new Argument("<shell>", "your shell").choices(SHELLS).argParser((word) => word))
    .action((word: string) => finish(completion(word, program, shell)));
  const examples = Object.assign({}, EXAMPLES, ...features.map(({ commands }) => commands?.examples));
  for (const each of program.commands) addExamples(each, [], examples);
  return program;
}

/** `serve`, `stdio` and `connect`. */
function addServingCommands(
  { stateful, shell, finish }: CommandLine,
  command: readonly string[] | undefined,
): void {
  withStrictFlag(
    withReapFlag(withListenFlags(withConfigFlag(stateful("serve")), shell.features)),
    "do not start, and reload nothing, while the config has any problem or warning",
  )
    .description("Serve the gateway over HTTP until a signal.")
    .action((flags: ServeFlags) => finish(runServe(flags, command, shell)));

  withReapFlag(withConfigFlag(stateful("stdio")))
    .description("Serve the gateway on stdin and stdout, for hosts that only start commands.")
    .action((flags: ConfigFlags & ReapFlag) =>
      finish(import("./stdio.js").then(({ stdio }) => stdio(flags, shell))),
    );

  stateful("connect")
    .description("Serve one HTTP server on stdin and stdout, its names as they are.")
    .argument("<url>", "the address of the server")
    .option(
      "--header <header>",
      "a header for every request, 'Name: value'; may be given again (CARDEA_HEADER, one a line)",
      (line: string, before: readonly string[] | undefined) => [...(before ?? []), line],
    )
    .action((url: string, flags: { header?: readonly string[] }) =>
      finish(import("./stdio.js").then(({ connect }) => connect(url, flags, shell))),
    );
}

/** `check` and `doctor`. */
function addCheckingCommands({ program, shell, finish }: CommandLine): void {
  withStrictFlag(withJsonFlag(withConfigFlag(program.command("check"))), "exit with 78 for warnings, too")
    .description("Check the config: print every problem, and advice. Starts nothing.")
    .action((flags: ConfigFlags & JsonFlag & StrictFlag) =>
      finish(import("./check.js").then(({ check }) => check(flags, shell))),
    );

  withYesFlag(withJsonFlag(withConfigFlag(program.command("doctor"))))
    .description("Start each server once and print its problems.")
    .action((flags: ConfigFlags & JsonFlag & YesFlag) =>
      finish(import("./doctor.js").then(({ doctor }) => doctor(flags, shell))),
    );
}

function addListCommand({ stateful, shell, finish }: CommandLine): void {
  const { features } = shell;
  const shortLists = features.find((feature) => feature.shortLists !== undefined)?.shortLists;
  const lister = withYesFlag(withJsonFlag(withGatewayFlags(withAsFlags(withConfigFlag(stateful("list"))))))
    .description("Show what a host will see, and from which server.")
    .addArgument(
      // The command itself refuses an unknown word and names the most similar one.
      new Argument("[kind]", "all four when left out").choices(LIST_WORDS).argParser((word) => word),
    )
    .option("--at <name>", "what a host at /mcp/NAME sees: one server, or one profile (CARDEA_AT)");
  (shortLists === undefined ? lister : lister.option("--all", shortLists.allHelp)).action(
    (
      kind: string | undefined,
      flags: ConfigFlags & JsonFlag & AsFlags & GatewayFlags & YesFlag & ListFlags,
    ) => finish(import("./list.js").then(({ list }) => list(kind, flags, shell))),
  );
}

/** `status`, `tail` and `top`: what a running gateway does. */
function addWatchingCommands({ stateful, shell, finish }: CommandLine): void {
  withJsonFlag(withGatewayFlags(withConfigFlag(stateful("status"))))
    .description("Show the state of the running gateway and of each server.")
    .option("--watch", "again every 2 s, until a signal (CARDEA_WATCH)")
    .action((flags: ConfigFlags & JsonFlag & GatewayFlags & WatchFlag) =>
      finish(import("./status.js").then(({ status }) => status(flags, shell))),
    );

  withJsonFlag(withGatewayFlags(withConfigFlag(stateful("tail"))))
    .description("Show the calls of the running gateway, each as it ends, with where its time went.")
    .option("--lines <n>", "how many of the last calls come first, up to 1000 (CARDEA_LINES); default 10")
    .option("--principal <id>", "only calls of this principal (CARDEA_PRINCIPAL)")
    .option("--server <name>", "only calls to this server (CARDEA_SERVER)")
    .option("--tool <name>", "only calls of this tool, by the name that hosts see (CARDEA_TOOL)")
    .option(
      "--outcome <word>",
      "only calls that ended so: ok, tool_error, input_required, or a refusal word (CARDEA_OUTCOME)",
    )
    .action((flags: ConfigFlags & JsonFlag & GatewayFlags & TailFlags) =>
      finish(import("./tail.js").then(({ tail }) => tail(flags, shell))),
    );

  withJsonFlag(withGatewayFlags(withConfigFlag(stateful("top"))))
    .description(
      "Show which tools of the running gateway were called most in the last minute, how slow they are, and how many calls failed.",
    )
    .action((flags: ConfigFlags & JsonFlag & GatewayFlags) =>
      finish(import("./top.js").then(({ top }) => top(flags, shell))),
    );
}

/** `call` and `explain`: as a host sees the gateway. */
function addCallingCommands({ stateful, shell, finish }: CommandLine): void {
  withYesFlag(withJsonFlag(withGatewayFlags(withAsFlags(withConfigFlag(stateful("call"))))))
    .description(
      "Call one tool and print its answer. With --as the servers are started, even if a gateway runs.",
    )
    .argument("<name>", "the tool's name as a host sees it")
    .argument("[arguments...]", ARGUMENTS)
    .action(
      (
        name: string,
        args: readonly string[],
        flags: ConfigFlags & JsonFlag & AsFlags & GatewayFlags & YesFlag,
      ) => finish(import("./call.js").then(({ call }) => call(name, args, flags, shell))),
    );

  withYesFlag(withJsonFlag(withGatewayFlags(withAsFlags(withConfigFlag(stateful("explain"))))))
    .description("Explain whether a call would be allowed: every rule and limit that applies. Calls nothing.")
    .argument("[name]", "the tool's name as a host sees it")
    .argument("[arguments...]", ARGUMENTS)
    .option(
      "--after <calls...>",
      "tools that were called before in the same conversation, for rules of policy.flow; the tool itself may stand behind them (CARDEA_AFTER, one a line)",
    )
    .action(
      (
        name: string | undefined,
        args: readonly string[],
        flags: ConfigFlags & JsonFlag & AsFlags & GatewayFlags & YesFlag & AfterFlag,
      ) => finish(import("./explain.js").then(({ explain }) => explain(name, args, flags, shell))),
    );
}

/** `import` and `schema`. */
function addPrintingCommands({ program, shell, finish }: CommandLine): void {
  program
    .command("import")
    .description("Turn a host's config, or a registry's server.json, into Cardea's and print it.")
    .argument("<file>", "the file, or - for standard input")
    .option("--plain", "print secrets of the file, too, in plain text (CARDEA_PLAIN)")
    .action((file: string, flags: { readonly plain?: boolean }) =>
      finish(import("./import.js").then(({ importConfig }) => importConfig(file, shell, flags))),
    );

  program
    .command("schema")
    .description("Print the config's JSON Schema.")
    .action(() => finish(import("./schema.js").then(({ schema }) => schema(shell))));
}

/** `key` generates one; `key list` and `key revoke` read and edit the config. */
function addKeyCommands(program: Command, shell: CommandContext, finish: Finish): void {
  const key = withJsonFlag(withConfigFlag(program.command("key")))
    .description("Make an API key for a host: print it once, and its entry for auth.keys of the config.")
    .option("--id <id>", "the principal of the key (CARDEA_ID)")
    .option("--groups <groups>", "its groups, with commas between them (CARDEA_GROUPS)")
    .option("--expires <time>", "when it expires: 12h, 90d, 1y or a date (CARDEA_EXPIRES)")
    .option("--add", "write the entry into the config, whose comments stay (CARDEA_ADD)")
    .helpCommand(false)
    .action((flags: KeyFlags & ConfigFlags & JsonFlag) =>
      finish(import("./key.js").then(({ key: make }) => make(flags, shell))),
    );
  withJsonFlag(withConfigFlag(key.command("list")))
    .description("Show the keys in the config: whose, their groups, when they expire.")
    .action((_: ConfigFlags & JsonFlag, command: Command) =>
      finish(import("./key-file.js").then(({ listKeys }) => listKeys(command.optsWithGlobals(), shell))),
    );
  withJsonFlag(withConfigFlag(key.command("revoke")))
    .description("Take every key of a principal out of the config, which keeps its comments.")
    .argument("<id>", "the principal, as key list shows it")
    .action((id: string, _: ConfigFlags & JsonFlag, command: Command) =>
      finish(
        import("./key-file.js").then(({ revokeKey }) => revokeKey(id, command.optsWithGlobals(), shell)),
      ),
    );
}

/** Adds the examples of a command and of its subcommands below their help. */
function addExamples(
  command: Command,
  before: readonly string[],
  examples: Readonly<Record<string, readonly string[]>>,
): void {
  const words = [...before, command.name()];
  const own = examples[words.join(" ")] ?? [];
  command.addHelpText("after", ["", "Examples:", ...own.map((line) => `  ${line}`)].join("\n"));
  for (const inner of command.commands) addExamples(inner, words, examples);
}

async function runServe(
  flags: ServeFlags,
  command: readonly string[] | undefined,
  shell: CommandContext,
): Promise<number> {
  const { serve, serveCommand } = await import("./serve.js");
  if (command === undefined) return serve(flags, shell);
  if (flags.config !== undefined) throw new UsageError("--config and -- CMD cannot go together");
  return serveCommand(flags, command, shell);
}
