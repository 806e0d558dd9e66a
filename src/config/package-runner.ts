/** Which package does the command of a server fetch before it starts it, and what does the runner itself write? */
import { basename } from "node:path";

/** A command that fetches a package, or an image, that is not cached. */
export interface PackageRunner {
  /** As people call it: `npx`, `pnpm dlx`, `docker`. */
  readonly runner: string;
  readonly fetches: "package" | "image";
  /** The package, with its version where the command names one; undefined if it is unknown. */
  readonly name?: string;
}

/** The words behind the program that make it a runner; none for programs that are nothing else. */
const RUNNERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  npx: [[]],
  bunx: [[]],
  pnpx: [[]],
  uvx: [[]],
  pnpm: [["dlx"]],
  yarn: [["dlx"]],
  npm: [["exec"], ["x"]],
  bun: [["x"]],
  pipx: [["run"]],
  uv: [["tool", "run"], ["run"]],
  docker: [["run"], ["container", "run"]],
  podman: [["run"], ["container", "run"]],
};

/** The file name of a program, without what Windows appends. */
export const programName = (command: string): string =>
  basename(command.replaceAll("\\", "/")).replace(/\.(exe|cmd|bat|ps1)$/i, "");

/** Undefined for a command that fetches nothing. */
export function packageRunner(command: string, args: readonly string[]): PackageRunner | undefined {
  const program = programName(command);
  // On Windows hosts write `cmd /c npx …`.
  const [first = "", second = "", ...inner] = args;
  if (/^cmd$/i.test(program) && /^\/c$/i.test(first)) return packageRunner(second, inner);
  const forms = Object.hasOwn(RUNNERS, program) ? RUNNERS[program] : undefined;
  const words = forms?.find((form) => form.every((word, at) => args[at] === word));
  if (words === undefined) return undefined;
  const runner = [program, ...words].join(" ");
  if (program === "docker" || program === "podman") return { runner: program, fetches: "image" };
  const name = packageIn(args.slice(words.length));
  return { runner, fetches: "package", ...(name !== undefined && { name }) };
}

function packageIn(args: readonly string[]): string | undefined {
  for (const [index, arg] of args.entries()) {
    if (arg === "-p" || arg === "--package" || arg === "--from" || arg === "--with") return args[index + 1];
    const [, named] = /^--(?:package|from|with)=(.+)$/.exec(arg) ?? [];
    if (named !== undefined) return named;
  }
  return args.find((arg) => !arg.startsWith("-"));
}

/** What runners write while they fetch and install: npm, uv, bun, pnpm, yarn, pip, Docker. */
const PROGRESS = [
  /^npm (?:warn|notice|http|info|verb|sill)\b/i,
  /^(?:resolv|prepar|install|download|build|built|updat|creat|audit|extract|saved|using|uninstall|collecting|fetch|unpack)\w*\b/i,
  /^(?:bun(?:x| add| install)?\b|\.pnpm|packages:|progress:|already up to date|library\/|➤|⸨|[+.#█░▒▓⠀-⣿|/\\-]+$)/i,
  /^(?:unable to find image|\S+: pull(?:ing|ed)|pull complete|[0-9a-f]{12}: |digest: |status: )/i,
];

/** Whether a line is the progress of a package runner. */
export const isRunnerProgress = (line: string): boolean =>
  line.trim() === "" || PROGRESS.some((pattern) => pattern.test(line.trim()));

/** `npx is fetching the package @scope/server`. */
export const fetchingText = ({ runner, fetches, name }: PackageRunner): string =>
  `${runner} is fetching the ${fetches}${name === undefined ? "" : ` ${name}`}`;
