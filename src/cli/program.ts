/** The command line: which words and flags there are, and which command each of them runs. */
import { Command, CommanderError } from "commander";
import { closest } from "../config/closest.js";
import { type CommandContext, write } from "./command-context.js";
import { EXIT, UsageError } from "./exit.js";
import {
  type AsFlags,
  type ConfigFlags,
  type JsonFlag,
  type ListenFlags,
  type ReapFlag,
  withAsFlags,
  withConfigFlag,
  withJsonFlag,
  withListenFlags,
  withReapFlag,
} from "./flags.js";
import { HELP, packageVersion } from "./help.js";
import type { KeyFlags } from "./key.js";

/** Runs what `argv` (without node and script) asks for, and resolves to the exit code. */
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
  for (const inner of program.commands) inner.copyInheritedSettings(program);
  try {
    checkOrder(words, program);
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

/** `[flags] -- CMD ARGS…` is `serve` with a command; elsewhere `--` means what it means to every program. */
function splitCommand(argv: readonly string[]): { words: readonly string[]; command?: readonly string[] } {
  const at = argv.indexOf("--");
  const first = argv[0] ?? "";
  if (at === -1 || !(first === "serve" || first.startsWith("-"))) return { words: argv };
  const before = argv.slice(first === "serve" ? 1 : 0, at);
  return { words: ["serve", ...before], command: argv.slice(at + 1) };
}

/** @throws UsageError for a flag of some command that stands where the command should. */
function checkOrder([first = ""]: readonly string[], { commands }: Command): void {
  const flag = first.split("=", 1)[0] ?? "";
  const takers = commands.filter(({ options }) => options.some(({ long }) => long === flag));
  const [taker, other] = takers.map((command) => command.name());
  if (taker === undefined) return;
  const hint = other === undefined ? `(did you mean ${taker}?)` : HINT;
  throw new UsageError(`a command is missing before ${flag}\n${hint}`);
}

const HINT = "(cardea --help lists the commands)";

type Finish = (work: Promise<number>) => Promise<void>;

function commandLine(shell: CommandContext, finish: Finish, command: readonly string[] | undefined): Command {
  const program = new Command("cardea")
    .helpCommand(false)
    .version(packageVersion(), "-V, --version")
    .showHelpAfterError(HINT);
  program.helpInformation = () => HELP;
  program.argument("[command]").action((word: string | undefined) => {
    if (word === undefined) {
      throw new UsageError(`a command is missing\n\n${HELP}`);
    }
    const names = program.commands.map((known) => known.name());
    const near = closest(word, names);
    const hint = near === undefined ? HINT : `(did you mean ${near}?)`;
    throw new UsageError(`there is no command ${JSON.stringify(word)}\n${hint}`);
  });

  withReapFlag(withListenFlags(withConfigFlag(program.command("serve"))))
    .description("Serve the gateway over HTTP until a signal.")
    .action((flags: ConfigFlags & ListenFlags & ReapFlag) => finish(runServe(flags, command, shell)));

  withReapFlag(withConfigFlag(program.command("stdio")))
    .description("Serve the gateway on stdin and stdout, for hosts that only start commands.")
    .action((flags: ConfigFlags & ReapFlag) =>
      finish(import("./stdio.js").then(({ stdio }) => stdio(flags, shell))),
    );

  program
    .command("connect")
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

  withJsonFlag(withConfigFlag(program.command("check")))
    .description("Say what is wrong with the config, and what may surprise; starts nothing.")
    .action((flags: ConfigFlags & JsonFlag) =>
      finish(import("./check.js").then(({ check }) => check(flags, shell))),
    );

  withJsonFlag(withConfigFlag(program.command("doctor")))
    .description("Start each server once and say what is wrong with it.")
    .action((flags: ConfigFlags & JsonFlag) =>
      finish(import("./doctor.js").then(({ doctor }) => doctor(flags, shell))),
    );

  withJsonFlag(withConfigFlag(program.command("list")))
    .description("Show what a host will see, and from which server.")
    .argument("[kind]", "tools, prompts, resources or templates; all of them when left out")
    .action((kind: string | undefined, flags: ConfigFlags & JsonFlag) =>
      finish(import("./list.js").then(({ list }) => list(kind, flags, shell))),
    );

  withJsonFlag(withConfigFlag(program.command("call")))
    .description("Call one tool and print its answer.")
    .argument("<name>", "the tool's name as a host sees it")
    .argument("[arguments]", "a JSON object")
    .action((name: string, args: string | undefined, flags: ConfigFlags & JsonFlag) =>
      finish(import("./call.js").then(({ call }) => call(name, args, flags, shell))),
    );

  withJsonFlag(withAsFlags(withConfigFlag(program.command("explain"))))
    .description("Say what would become of a call, and why: every rule and limit. Calls nothing.")
    .argument("<name>", "the tool's name as a host sees it")
    .argument("[arguments]", "a JSON object")
    .action((name: string, args: string | undefined, flags: ConfigFlags & JsonFlag & AsFlags) =>
      finish(import("./explain.js").then(({ explain }) => explain(name, args, flags, shell))),
    );

  program
    .command("import")
    .description("Turn a host's config, or a registry's server.json, into Cardea's and print it.")
    .argument("<file>", "the file, or - for standard input")
    .action((file: string) =>
      finish(import("./import.js").then(({ importConfig }) => importConfig(file, shell))),
    );

  program
    .command("schema")
    .description("Print the config's JSON Schema.")
    .action(() => finish(import("./schema.js").then(({ schema }) => schema(shell))));

  withJsonFlag(program.command("key"))
    .description("Make an API key: print it once, and its entry for auth.keys of the config.")
    .option("--id <id>", "the principal who comes with it (CARDEA_ID)")
    .option("--groups <groups>", "its groups, with commas between them (CARDEA_GROUPS)")
    .option("--expires <time>", "when it expires: 12h, 90d, 1y or a date (CARDEA_EXPIRES)")
    .action((flags: KeyFlags & JsonFlag) => finish(import("./key.js").then(({ key }) => key(flags, shell))));

  return program;
}

async function runServe(
  flags: ConfigFlags & ListenFlags & ReapFlag,
  command: readonly string[] | undefined,
  shell: CommandContext,
): Promise<number> {
  const { serve, serveCommand } = await import("./serve.js");
  if (command === undefined) return serve(flags, shell);
  if (flags.config !== undefined) throw new UsageError("--config and -- CMD cannot go together");
  return serveCommand(flags, command, shell);
}
