/** `cardea completion`: prints a completion script for commands, flags and files. */
import type { Command } from "commander";
import { closest } from "../config/closest.js";
import { type CommandContext, write } from "./command-context.js";
import { bashScript, fishScript, zshScript } from "./completion-scripts.js";
import { EXIT, UsageError } from "./exit.js";

/** A command, as completed by shells. */
export interface CompletedCommand {
  /** Its words: `["key", "revoke"]`. */
  readonly words: readonly string[];
  readonly description: string;
  readonly flags: readonly CompletedFlag[];
  /** Possible next words: choices of an argument and names of subcommands. */
  readonly choices: readonly string[];
  /** Whether an argument is a file. */
  readonly takesFile: boolean;
}

/** One flag of a command. */
export interface CompletedFlag {
  /** With its dashes. */
  readonly long: string;
  readonly description: string;
  /** The kind of its value; undefined for a flag without value. */
  readonly value: "file" | "other" | undefined;
}

const SCRIPTS: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** The supported shells. */
export const SHELLS: readonly string[] = Object.keys(SCRIPTS);

/** Prints the script for one shell. Returns the exit code. @throws UsageError for another shell */
export async function completion(shell: string, program: Command, context: CommandContext): Promise<number> {
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined) {
    const near = closest(shell, SHELLS);
    const hint = near === undefined ? `choose one of ${SHELLS.join(", ")}` : `did you mean ${near}?`;
    throw new UsageError(`there is no completion for ${JSON.stringify(shell)} (${hint})`);
  }
  await write(context.stdout, script(completedCommands(program)));
  return EXIT.done;
}

/** All commands of `program`, itself first. */
function completedCommands(command: Command, words: readonly string[] = []): readonly CompletedCommand[] {
  const args = command.registeredArguments;
  const own: CompletedCommand = {
    words,
    description: command.description(),
    flags: [
      ...command.options.flatMap(({ long, description, required, optional, flags, hidden }) =>
        long === undefined || long === null || hidden
          ? []
          : [{ long, description, value: required || optional ? valueKind(flags) : undefined }],
      ),
      { long: "--help", description: "Show help with examples.", value: undefined },
    ],
    choices: [
      ...command.commands.map((inner) => inner.name()),
      ...args.flatMap(({ argChoices = [] }) => argChoices),
    ],
    takesFile: args.some((argument) => argument.name() === "file"),
  };
  return [own, ...command.commands.flatMap((inner) => completedCommands(inner, [...words, inner.name()]))];
}

const valueKind = (flags: string): "file" | "other" => (/<file>/.test(flags) ? "file" : "other");
