/** An entry that `cardea add` or `cardea init` writes, as features change it before. */
import type { Command } from "commander";
import type { CommandContext, Log } from "./command-context.js";
import { isFlagSet } from "./flags.js";
import type { ImportedServer } from "./host-files/imported.js";

/** A flag that a feature adds to these commands; it has no value. */
export interface AddFlag {
  /** `--unpinned` */
  readonly flags: string;
  readonly description: string;
  readonly commands: readonly AddCommand[];
}

type AddCommand = "init" | "add";

/** The entry, and how the command was called. */
export interface AddedEntry {
  readonly name: string;
  readonly entry: ImportedServer;
  /** By the names of commander. */
  readonly flags: Readonly<Record<string, boolean>>;
  /** The content of the file that it is added to, which was not checked; undefined for a new one. */
  readonly file: unknown;
  readonly env: CommandContext["env"];
  readonly cwd: string;
}

/** The entry to write. */
export interface RefinedEntry {
  readonly entry: ImportedServer;
  /** Sentences for the person, which are logged as warnings. */
  readonly notes: readonly string[];
}

/** The flags of features for one of the commands. */
export function withAddFlags(command: Command, name: AddCommand, { features }: CommandContext): Command {
  for (const { flags, description, commands } of features.flatMap(({ addFlags = [] }) => addFlags))
    if (commands.includes(name)) command.option(flags, description);
  return command;
}

/** The entry after all features. `given`: the flags of the command. `file`: as in `AddedEntry`. */
export async function refined(
  name: string,
  entry: ImportedServer,
  { flags: given, file }: { readonly flags: object; readonly file?: unknown },
  shell: CommandContext,
  log: Log,
): Promise<ImportedServer> {
  const { features, env, cwd } = shell;
  const values = Object.entries(given).filter(
    (pair): pair is [string, boolean] => typeof pair[1] === "boolean",
  );
  const byFlag = Object.fromEntries(values);
  const flags = Object.fromEntries(
    features
      .flatMap(({ addFlags = [] }) => addFlags)
      .map(({ flags: flag }) => {
        const word = flag.slice(2);
        const variable = `CARDEA_${word.replaceAll("-", "_").toUpperCase()}`;
        return [word, isFlagSet(byFlag[word], variable, env)] as const;
      }),
  );
  let refinedEntry = entry;
  for (const feature of features) {
    const next = await feature.refine?.({ name, entry: refinedEntry, flags, file, env, cwd });
    if (next === undefined) continue;
    refinedEntry = next.entry;
    for (const note of next.notes) log.warn({ server: name }, `server ${JSON.stringify(name)}: ${note}`);
  }
  return refinedEntry;
}
