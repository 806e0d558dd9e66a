/** Which package does a start line fetch, in which version, and where in the line does it stand? */
import type { PinnedPackage } from "../../cli/feature.js";
import { programName } from "../../config/package-runner.js";

/** Whose packages they are. */
type Ecosystem = "npm" | "python";

/** The package of a start line. */
export interface PackageStart {
  /** As people call it: `npx`, `npm exec`, `uvx`. */
  readonly runner: string;
  readonly ecosystem: Ecosystem;
  /** Without version and extras, as written: `@scope/name`. */
  readonly name: string;
  /** As written, with what chooses the version: `@scope/name@^1`. */
  readonly text: string;
  /** What chooses the version: `1.2.3`, `^1`, `latest`, `==1.2.3`; empty if nothing does. */
  readonly spec: string;
  /** The exact version, if the line has one. */
  readonly pin: string | undefined;
  /** All packages of the line, as written. */
  readonly all: readonly string[];
  /** The index of the argument that has the package, and what stands before it there: `--package=`. */
  readonly at: number;
  readonly before: string;
  /** Whether an option names the package; a command of it follows then. */
  readonly isNamed: boolean;
  /** The arguments behind the package, or with `isNamed` from the command on. */
  readonly rest: readonly string[];
}

interface Runner {
  readonly words: readonly string[];
  readonly ecosystem: Ecosystem;
}

const npm = (...words: readonly string[]): Runner => ({ words, ecosystem: "npm" });
const python = (...words: readonly string[]): Runner => ({ words, ecosystem: "python" });

/** By program: the words behind it that make it a runner. */
const RUNNERS: Readonly<Record<string, readonly Runner[]>> = {
  npx: [npm()],
  pnpx: [npm()],
  bunx: [npm()],
  npm: [npm("exec"), npm("x")],
  pnpm: [npm("dlx")],
  yarn: [npm("dlx")],
  bun: [npm("x")],
  uvx: [python()],
  uv: [python("tool", "run")],
  pipx: [python("run")],
};

/** Options that name the package. */
const NAMING: Readonly<Record<Ecosystem, ReadonlySet<string>>> = {
  npm: new Set(["-p", "--package"]),
  python: new Set(["--from", "--spec"]),
};

/** Options with a value in the next argument, before the package. */
const VALUED: Readonly<Record<Ecosystem, ReadonlySet<string>>> = {
  npm: new Set(["-c", "--call", "-w", "--workspace", "--registry", "--cache", "--userconfig", "--prefix"]),
  python: new Set([
    ...["--with", "--with-editable", "--with-requirements", "-p", "--python", "-i", "--index-url"],
    ...["--index", "--default-index", "--extra-index-url", "-f", "--find-links", "--cache-dir"],
    ...["--directory", "--project", "--config-file", "--exclude-newer", "--env-file", "-c", "--constraints"],
    ...["--pip-args", "--overrides", "--refresh-package", "--color"],
  ]),
};

/** Undefined for a line that fetches no package of a registry: another program, a path, a URL. */
export function packageStart(command: string, args: readonly string[]): PackageStart | undefined {
  const program = programName(command);
  const [first = "", second = ""] = args;
  // On Windows hosts write `cmd /c npx …`.
  if (/^cmd$/i.test(program) && /^\/c$/i.test(first)) {
    const inner = packageStart(second, args.slice(2));
    return inner && { ...inner, at: inner.at + 2 };
  }
  const forms = Object.hasOwn(RUNNERS, program) ? RUNNERS[program] : undefined;
  const runner = forms?.find(({ words }) => words.every((word, at) => args[at] === word));
  if (runner === undefined) return undefined;
  const { words, ecosystem } = runner;
  const found = findPackage(args, words.length, ecosystem);
  const parts = found && (ecosystem === "npm" ? npmParts(found.text) : pythonParts(found.text));
  return found && parts && { runner: [program, ...words].join(" "), ecosystem, ...found, ...parts };
}

/** The package of a line that fetches no other one; undefined if its version is not exact. */
export function pinnedPackage(command: string, args: readonly string[]): PinnedPackage | undefined {
  const line = packageStart(command, args);
  if (line?.pin === undefined || line.all.length > 1) return undefined;
  const { name, pin, at, before } = line;
  return { name, version: pin, args: args.with(at, `${before}${name}`) };
}

type Found = Pick<PackageStart, "text" | "at" | "before" | "isNamed" | "rest" | "all">;

function findPackage(args: readonly string[], from: number, ecosystem: Ecosystem): Found | undefined {
  const naming = NAMING[ecosystem];
  const named: { readonly text: string; readonly at: number; readonly before: string }[] = [];
  let at = from;
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? "";
    if (arg === "--") {
      at += 1;
      break;
    }
    if (!arg.startsWith("-")) break;
    const equals = arg.indexOf("=");
    const option = equals === -1 ? arg : arg.slice(0, equals);
    if (naming.has(option)) {
      if (equals === -1) at += 1;
      const before = equals === -1 ? "" : arg.slice(0, equals + 1);
      named.push({ at, before, text: equals === -1 ? (args[at] ?? "") : arg.slice(equals + 1) });
    } else if (equals === -1 && VALUED[ecosystem].has(arg)) at += 1;
  }
  const [first] = named;
  if (first !== undefined)
    return { ...first, isNamed: true, rest: args.slice(at), all: named.map(({ text }) => text) };
  const text = args[at];
  if (text === undefined) return undefined;
  return { text, at, before: "", isNamed: false, rest: args.slice(at + 1), all: [text] };
}

type Parts = Pick<PackageStart, "name" | "spec" | "pin">;

const NPM_NAME = /^(?:npm:)?((?:@[^/@\s]+\/)?[^/@:\s]+)(?:@(.*))?$/;
const EXACT = /^[v=]?(\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?)$/;

function npmParts(text: string): Parts | undefined {
  const [, name = "", spec = ""] = NPM_NAME.exec(text) ?? [];
  // A path, a URL or a repository has its own form behind the name.
  if (name === "" || /^[.~]/.test(name) || /[:/]/.test(spec)) return undefined;
  return { name, spec, pin: EXACT.exec(spec)?.[1] };
}

const PYTHON_NAME = /^([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(?:\[[\w., -]*\])?(.*)$/;
const PYTHON_EXACT = /^(?:@|===?)\s*([0-9][0-9A-Za-z.!+-]*)$/;

function pythonParts(text: string): Parts | undefined {
  const [, name = "", spec = ""] = PYTHON_NAME.exec(text.trim()) ?? [];
  if (name === "" || /[:/]/.test(spec)) return undefined;
  return { name, spec: spec.trim(), pin: PYTHON_EXACT.exec(spec.trim())?.[1] };
}

/** The arguments with the package in this exact version; undefined where its form has no place for one. */
export function pinnedArgs(
  args: readonly string[],
  start: PackageStart,
  version: string,
): readonly string[] | undefined {
  const { ecosystem, name, text, spec, before, at, isNamed, runner } = start;
  const package_ = spec === "" ? text : text.slice(0, text.length - spec.length).replace(/[@\s]+$/, "");
  // `uvx` takes NAME@VERSION as the command, and NAME==VERSION with --from.
  const sign = ecosystem === "npm" ? "@" : isNamed || runner === "pipx run" ? "==" : "@";
  if (sign === "@" && ecosystem === "python" && package_ !== name) return undefined;
  return args.with(at, `${before}${package_}${sign}${version}`);
}
