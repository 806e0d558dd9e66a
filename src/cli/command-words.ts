/** Which words of a command line name a command, and what was meant by words that name none? */
import type { Command } from "commander";
import { closest } from "../config/closest.js";
import { UsageError } from "./exit.js";

/** Says where the commands are listed. */
export const HINT = "cardea --help lists the commands";

/**
 * `[flags] -- CMD ARGS…` is `serve` with a command, and `add` takes one too; elsewhere `--` means what it means to every
 * program.
 */
export function splitCommand(argv: readonly string[]): {
  words: readonly string[];
  command?: readonly string[];
} {
  const at = argv.indexOf("--");
  const first = argv[0] ?? "";
  if (at > 0 && first === "add") return { words: argv.slice(0, at), command: argv.slice(at + 1) };
  if (at === -1 || !(first === "serve" || first.startsWith("-"))) return { words: withHelpWord(argv) };
  const before = argv.slice(first === "serve" ? 1 : 0, at);
  return { words: ["serve", ...before], command: argv.slice(at + 1) };
}

/** `cardea help [COMMAND]` is what other programs call `--help`. */
const withHelpWord = ([first, ...rest]: readonly string[]): readonly string[] =>
  first === "help" ? [...rest, "--help"] : first === undefined ? [] : [first, ...rest];

/** @throws UsageError where the first word is no command, or the second none of its subcommands; it names the nearest. */
export function checkWords([first = "", second = ""]: readonly string[], { commands }: Command): void {
  const command = commands.find((each) => each.name() === first);
  if (command === undefined) {
    if (first.startsWith("-")) checkOrder(first, commands);
    else if (first !== "") throw unknownCommand(first, commands);
  } else if (command.commands.length > 0 && second !== "" && !second.startsWith("-")) {
    const names = command.commands.map((each) => each.name());
    if (names.includes(second)) return;
    const near = closest(second, names);
    const hint = near === undefined ? `cardea ${first} --help lists them` : `did you mean ${first} ${near}?`;
    throw new UsageError(`there is no command ${JSON.stringify(`${first} ${second}`)}\n(${hint})`);
  }
}

/** What other programs call the same thing. */
const SYNONYMS: Readonly<Record<string, string>> = {
  ...{ run: "serve", start: "serve", up: "serve", proxy: "connect", bridge: "connect" },
  ...{ validate: "check", lint: "check", verify: "check", test: "doctor", diagnose: "doctor" },
  ...{ ls: "list", tools: "list tools", prompts: "list prompts", resources: "list resources" },
  ...{ invoke: "call", why: "explain", keys: "key list", completions: "completion", version: "--version" },
};

function unknownCommand(word: string, commands: readonly Command[]): UsageError {
  const names = commands.map((each) => each.name());
  const near = Object.hasOwn(SYNONYMS, word) ? SYNONYMS[word] : closest(word, names);
  const hint = /^https?:/.test(word)
    ? "did you mean connect URL?"
    : /\.(jsonc?|ya?ml)$/.test(word)
      ? "did you mean serve --config FILE?"
      : near === undefined
        ? HINT
        : `did you mean ${near}?`;
  return new UsageError(`there is no command ${JSON.stringify(word)}\n(${hint})`);
}

/** @throws UsageError for a flag of some command that stands where the command should. */
function checkOrder(first: string, commands: readonly Command[]): void {
  const flag = first.split("=", 1)[0] ?? "";
  const takers = commands.filter(({ options }) => options.some(({ long }) => long === flag));
  const [taker, other] = takers.map((command) => command.name());
  if (taker === undefined) return;
  const hint = other === undefined ? `did you mean ${taker}?` : HINT;
  throw new UsageError(`a command is missing before ${flag}\n(${hint})`);
}
