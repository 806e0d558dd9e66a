/** Finds the command in a command line, and suggests one for unknown words. */
import type { Command } from "commander";
import { closest } from "../config/closest.js";
import { UsageError } from "./exit.js";
import { isRegistryName } from "./registry-name.js";

/** Where the commands are listed. */
export const HINT = "cardea --help lists the commands";

/** `[flags] -- CMD ARGS…` is `serve` with a command, and `add` takes one too; elsewhere `--` has its usual meaning. */
export function splitCommand(argv: readonly string[]): {
  words: readonly string[];
  command?: readonly string[];
} {
  const at = argv.indexOf("--");
  const first = argv[0] ?? "";
  if (at > 0 && first === "add") return { words: argv.slice(0, at), command: argv.slice(at + 1) };
  if (at === -1 && first === "add") return splitAdd(argv);
  if (at === -1 || !(first === "serve" || first.startsWith("-"))) return { words: withHelpWord(argv) };
  const before = argv.slice(first === "serve" ? 1 : 0, at);
  return { words: ["serve", ...before], command: argv.slice(at + 1) };
}

const ADD_FLAGS_WITH_VALUES = new Set(["--env", "--header", "--registry", "--config"]);

/**
 * `add NAME npx -y some-package`, as other programs take it: everything from the second word on is the command, if more words
 * follow and it is no URL, file or name of a registry.
 */
function splitAdd(argv: readonly string[]): { words: readonly string[]; command?: readonly string[] } {
  let named = false;
  for (let at = 1; at < argv.length; at += 1) {
    const word = argv[at] ?? "";
    if (ADD_FLAGS_WITH_VALUES.has(word)) at += 1;
    else if (word.startsWith("-")) continue;
    else if (!named) named = true;
    else {
      const isSource = /^https?:/i.test(word) || /\.json$/i.test(word) || isRegistryName(word);
      const isCommand = !isSource && at + 1 < argv.length;
      return isCommand ? { words: argv.slice(0, at), command: argv.slice(at) } : { words: argv };
    }
  }
  return { words: argv };
}

/** `cardea help [COMMAND]` is what other programs call `--help`. */
const withHelpWord = ([first, ...rest]: readonly string[]): readonly string[] =>
  first === "help" ? [...rest, "--help"] : first === undefined ? [] : [first, ...rest];

/**
 * @throws UsageError if the first word is not a command, or the second not one of its subcommands; it names the most
 * similar one
 */
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

/** Names of the same commands in other programs. */
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

/** @throws UsageError for a command's flag in place of the command */
function checkOrder(first: string, commands: readonly Command[]): void {
  const flag = first.split("=", 1)[0] ?? "";
  const takers = commands.filter(({ options }) => options.some(({ long }) => long === flag));
  const [taker, other] = takers.map((command) => command.name());
  if (taker === undefined) return;
  const hint = other === undefined ? `did you mean ${taker}?` : HINT;
  throw new UsageError(`a command is missing before ${flag}\n(${hint})`);
}
