/** The completion scripts of bash, zsh and fish, written from the list of commands. */
import type { CompletedCommand, CompletedFlag } from "./completion.js";

type Commands = readonly CompletedCommand[];

const names = ({ flags }: CompletedCommand): readonly string[] => flags.map(({ long }) => long);
/** Flags of all commands with this kind of value, without duplicates. */
const flagsWith = (commands: Commands, value: CompletedFlag["value"]): readonly string[] => [
  ...new Set(
    commands.flatMap(({ flags }) => flags.filter((flag) => flag.value === value).map(({ long }) => long)),
  ),
];
/** Text in single quotes; descriptions have no line breaks. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const firstSentence = (text: string): string => text.split(/[.;:]\s|\.$/, 1)[0] ?? text;

/** For bash 3.2 and later, with or without the package bash-completion. */
export function bashScript(commands: Commands): string {
  const paths = commands.filter(({ words }) => words.length > 0).map(({ words }) => words.join(" "));
  const cases = commands.map((command) => {
    const words = [...command.choices, ...names(command)].join(" ");
    return `    ${quoted(command.words.join(" "))}) words=${quoted(words)}${command.takesFile ? " files=yes" : ""} ;;`;
  });
  return `# bash completion for cardea: eval "$(cardea completion bash)"
_cardea() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} path="" words="" files="" next="" line i
  COMPREPLY=()
  case "$before" in
    ${flagsWith(commands, "file").join("|")}) files=only ;;
    ${flagsWith(commands, "other").join("|")}) return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      --) files=only ;;
      ${[...flagsWith(commands, "file"), ...flagsWith(commands, "other")].join("|")}) ((i++)) ;;
      -*) ;;
      *)
        next="\${path:+$path }\${COMP_WORDS[i]}"
        case "$next" in ${paths.map(quoted).join("|")}) path=$next ;; esac ;;
    esac
  done
  if [ "$files" != only ]; then
    case "$path" in
${cases.map((line) => `  ${line}`).join("\n")}
    esac
    while IFS= read -r line; do
      [[ $word == "" && $line == -* ]] || COMPREPLY+=("$line")
    done < <(compgen -W "$words" -- "$word")
  fi
  if [ -n "$files" ]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
  fi
}
complete -F _cardea cardea
`;
}

/** For zsh 5 and later. */
export function zshScript(commands: Commands): string {
  const top = commands.filter(({ words }) => words.length === 1);
  const described = top.map(({ words: [name = ""], description }) =>
    quoted(`${name}:${firstSentence(description).replaceAll(":", "\\:")}`),
  );
  const cases = commands
    .filter(({ words }) => words.length > 0)
    .toSorted((a, b) => b.words.length - a.words.length)
    .map((command) => {
      const [first, second] = command.words;
      const condition =
        second === undefined
          ? `[[ $words[1] == ${first} ]]`
          : `[[ $words[1] == ${first} && $words[2] == ${second} ]]`;
      return `${condition}; then\n    ${zshArguments(command)}`;
    });
  return `#compdef cardea
# zsh completion for cardea: source <(cardea completion zsh), or save it as _cardea in a folder of $fpath
_cardea() {
  local curcontext=$curcontext state line
  typeset -A opt_args
  _arguments -C '(- *)--help[Show help]' '(- *)--version[Show the version]' '1:command:->command' '*::argument:->argument'
  if [[ $state == command ]]; then
    local -a commands=(${described.join(" ")})
    _describe -t commands command commands
    return
  fi
  [[ $state == argument ]] || return
  if ${cases.join("\n  elif ")}
  fi
}
if [[ $funcstack[1] == _cardea ]]; then _cardea "$@"; else compdef _cardea cardea; fi
`;
}

function zshArguments(command: CompletedCommand): string {
  const flags = command.flags.map(({ long, description, value }) => {
    const about = firstSentence(description).replace(/[[\]:\\]/g, "\\$&");
    return quoted(
      `${long}[${about}]${value === undefined ? "" : value === "file" ? ":file:_files" : ":value: "}`,
    );
  });
  const depth = command.words.length - 1;
  const skipped = Array.from({ length: depth }, () => quoted("1: :"));
  const argument = command.takesFile
    ? "*:file:_files"
    : command.choices.length > 0
      ? `*:argument:(${command.choices.join(" ")})`
      : "*: :";
  return ["_arguments", ...flags, ...skipped, quoted(argument)].join(" ");
}

/** For fish 3 and later. */
export function fishScript(commands: Commands): string {
  const below = (words: readonly string[]): Commands =>
    commands.filter(
      (each) => each.words.length === words.length + 1 && words.every((word, at) => each.words[at] === word),
    );
  const lines = commands.flatMap((command) => {
    const { words, flags, choices, takesFile } = command;
    const inner = below(words).map((each) => each.words.at(-1) ?? "");
    const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`);
    const notYet = inner.length === 0 ? [] : [`not __fish_seen_subcommand_from ${inner.join(" ")}`];
    const when = words.length === 0 ? "__fish_use_subcommand" : [...seen, ...notYet].join("; and ");
    const start = `complete -c cardea -n ${quoted(when)}`;
    return [
      ...below(words).map(
        (each) => `${start} -a ${each.words.at(-1)} -d ${quoted(firstSentence(each.description))}`,
      ),
      ...choices.filter((choice) => !inner.includes(choice)).map((choice) => `${start} -a ${choice}`),
      ...(takesFile ? [`${start} -F`] : []),
      ...flags.map(({ long, description, value }) => {
        const kind = value === undefined ? "" : value === "file" ? " -r -F" : " -x";
        return `${start} -l ${long.slice(2)}${kind} -d ${quoted(firstSentence(description))}`;
      }),
    ];
  });
  return `# fish completion for cardea: cardea completion fish > ~/.config/fish/completions/cardea.fish\ncomplete -c cardea -f\n${lines.join("\n")}\n`;
}
