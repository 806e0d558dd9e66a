/** Starts of servers whose package a runner fetches: young versions and install scripts stay out, what is cached runs without a registry. */
import { dirname, join } from "node:path";
import { LRUCache } from "lru-cache";
import { GatewayError } from "../../core/errors.js";
import type { Logger } from "../../core/logger.js";
import type { ProcessStart, StartLayer } from "../../core/process-start.js";
import { ageText, newestOldEnough } from "./age.js";
import { type ChildPlace, outputOf } from "./child-output.js";
import { choosesItsAge, IGNORES_AGE, withCoolDown } from "./cool-down.js";
import { isNetworkFailure, newestOf, versionsOf } from "./npm-registry.js";
import { type Installed, installedFor, installedInProject, packagesWithScripts } from "./npx-folder.js";
import { type PackageStart, packageStart } from "./package-start.js";
import type { PackageSettings } from "./section.js";

/** What a server runs. */
export interface RunningPackage {
  readonly runner: string;
  readonly name: string;
  /** Whether its start line has an exact version. */
  readonly isPinned: boolean;
  /** Undefined if it is unknown. */
  readonly version: string | undefined;
}

/** Servers whose package is known. */
const MAX_SERVERS = 1_000;
/** How long (ms) an answer of a registry is good for other starts. */
const ANSWER_MS = 60_000;
const MAX_ANSWERS = 200;
/** How long (ms) npm may fetch the packages of a line. */
const FETCH_MS = 300_000;

/** The layer, and what it knows of the servers that it has started. */
export class PackageStarts implements StartLayer {
  readonly #settings: PackageSettings;
  readonly #log: Pick<Logger, "warn">;
  readonly #closing = new AbortController();
  readonly #started = new LRUCache<string, ProcessStart>({ max: MAX_SERVERS });
  readonly #answers = new LRUCache<string, object | string>({ max: MAX_ANSWERS, ttl: ANSWER_MS });

  constructor(settings: PackageSettings, log: Pick<Logger, "warn">) {
    this.#settings = settings;
    this.#log = log;
  }

  async prepare(start: ProcessStart): Promise<ProcessStart> {
    const prepared = await this.#prepared(start);
    return prepared.isConfined === true ? this.#fetched(prepared) : prepared;
  }

  async #prepared(start: ProcessStart): Promise<ProcessStart> {
    const line = packageStart(start.command, start.args);
    if (line === undefined) return start;
    this.#started.set(start.name, start);
    const env = withCoolDown(line.runner, start.env, this.#settings, Date.now());
    const prepared = { ...start, env };
    if (line.ecosystem === "python" || installedInProject(line, start) !== undefined) return prepared;
    const installed = isNpm(line) ? installedFor(line, start) : undefined;
    // npm then runs what it has as soon as its registry does not answer.
    if (installed !== undefined)
      return this.#startInstalled(
        { ...start, env: { npm_config_fetch_retries: "0", ...env } },
        line,
        installed,
      );
    const isChecked = line.pin !== undefined || IGNORES_AGE.has(line.runner);
    if (!isChecked || this.#settings.minAgeMs === 0 || choosesItsAge(start.env)) return prepared;
    return this.#startUnlessYoung(prepared, line);
  }

  reasonOf(start: ProcessStart, output: string): string | undefined {
    const line = packageStart(start.command, start.args);
    if (line === undefined) return undefined;
    const { name, text, ecosystem } = line;
    if (/\b(?:ETARGET|ENOVERSIONS|notarget)\b|exclude[-_]newer/i.test(output) && this.#settings.minAgeMs > 0)
      return `${text}, or a package that it needs, has no version that is at least ${this.#age} old, as packages.minAge asks`;
    if (ecosystem === "npm" && isNetworkFailure(output) && /\bnpm (?:error|ERR!)/.test(output))
      return `${name} is not installed yet, and the package registry cannot be reached`;
    const installed = isNpm(line) ? installedFor(line, start) : undefined;
    const scripted =
      installed === undefined || this.#settings.runsScripts ? [] : packagesWithScripts(installed.folder);
    if (scripted.length === 0) return undefined;
    return `install scripts of ${scripted.join(", ")} were not run: if the server needs them, "packages": { "scripts": true } runs them when npm's folder ${installed?.folder} is removed`;
  }

  /** What a server runs now; undefined for one whose package is none of a runner. */
  runningOf(server: string): RunningPackage | undefined {
    const start = this.#started.get(server);
    const line = start && packageStart(start.command, start.args);
    if (start === undefined || line === undefined) return undefined;
    const { runner, name, pin } = line;
    const installed =
      line.ecosystem === "npm"
        ? (installedInProject(line, start) ?? (isNpm(line) ? installedFor(line, start) : undefined))
        : undefined;
    return { runner, name, isPinned: pin !== undefined, version: installed?.version ?? pin };
  }

  close(): void {
    this.#closing.abort();
  }

  /** npm asks its registry before it runs even a version that it has; without the registry that version runs. */
  async #startInstalled(
    start: ProcessStart,
    line: PackageStart,
    installed: Installed,
  ): Promise<ProcessStart> {
    const { program, version } = installed;
    if (program === undefined) return start;
    if (line.pin !== version) {
      if (line.pin !== undefined) return start;
      const newest = await this.#asked(`newest ${line.text}`, () => newestOf(line.text, this.#place(start)));
      if (newest !== "unreachable") return start;
      this.#log.warn(
        { server: start.name },
        `${start.name}: the package registry cannot be reached; ${line.name} ${version} is run, which npm has installed`,
      );
    }
    return runInstalled(start, line, program);
  }

  /** What npm would fetch at the start is fetched before, without install scripts: no code of the package runs yet. */
  async #fetched(start: ProcessStart): Promise<ProcessStart> {
    const line = packageStart(start.command, start.args);
    if (line === undefined || !isNpm(line) || process.platform === "win32") return start;
    if (installedInProject(line, start) !== undefined) return start;
    const env = { ...start.env, npm_config_ignore_scripts: "true", npm_config_yes: "true" };
    const place = { ...this.#place(start), env, timeoutMs: FETCH_MS };
    const { ok, stderr } = await outputOf(start.command, fetchArgs(start.args, line), place);
    const program = installedFor(line, start)?.program;
    if (ok && program !== undefined) return runInstalled(start, line, program);
    // npm runs it in a form that is not known here, from a cache of its own.
    if (ok) return start;
    const why = this.reasonOf(start, stderr) ?? stderr.trim().split("\n").at(-1)?.slice(0, 300);
    throw new GatewayError(
      "upstream_unavailable",
      "gateway",
      `${start.name} is not started: ${line.text} could not be fetched: ${why}`,
      { server: start.name, retryable: true },
    );
  }

  /** @throws GatewayError for a version that is too young */
  async #startUnlessYoung(start: ProcessStart, line: PackageStart): Promise<ProcessStart> {
    const { name, text, pin } = line;
    const { minAgeMs } = this.#settings;
    const known = await this.#asked(`times ${name}`, () => versionsOf(name, this.#place(start)));
    // The runner fails soon with the reason, or has the package in a place of its own.
    if (known === "unreachable") return { ...start, env: { npm_config_fetch_retries: "0", ...start.env } };
    if (typeof known === "string") return start;
    const version = pin ?? known.tags.get(line.spec === "" ? "latest" : line.spec);
    const at = version === undefined ? undefined : known.times.get(version);
    const now = Date.now();
    if (version === undefined || at === undefined || now - at >= minAgeMs) return start;
    const older = newestOldEnough(known.times, minAgeMs, now);
    const advice = older === undefined ? "" : `; ${name}@${older} is old enough`;
    throw new GatewayError(
      "upstream_unavailable",
      "gateway",
      `${start.name} is not started: ${name}@${version}${pin === undefined ? `, which ${text} is now,` : ""} was published ${ageText(now - at)} ago, and packages.minAge asks for ${this.#age}${advice}`,
      { server: start.name, retryable: true },
    );
  }

  get #age(): string {
    return ageText(this.#settings.minAgeMs);
  }

  #place = ({ env, cwd }: ProcessStart): ChildPlace => {
    // The age is that of the question here, not a filter of its answer.
    const own = Object.entries(env).filter(
      ([name]) => !/^npm_config_(?:before|min_release_age)$/i.test(name),
    );
    return { env: Object.fromEntries(own), cwd, signal: this.#closing.signal };
  };

  async #asked<Answer extends object | string>(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(key);
    if (known !== undefined) return known as Answer;
    const answer = await ask();
    if (answer !== "unreachable") this.#answers.set(key, answer);
    return answer;
  }
}

/** The program of an installed package in place of the runner. */
function runInstalled(start: ProcessStart, line: PackageStart, program: string): ProcessStart {
  const path = `${dirname(program)}:${start.env.PATH ?? process.env.PATH ?? ""}`;
  const args = line.isNamed ? line.rest.slice(1) : line.rest;
  const env = process.platform === "win32" ? start.env : { ...start.env, PATH: path };
  return { ...start, command: join(program), args, env };
}

/** The arguments by which npm fetches the packages of a line and runs nothing of them. */
function fetchArgs(args: readonly string[], { isNamed, rest, text }: PackageStart): readonly string[] {
  const before = args.slice(0, args.length - rest.length - (isNamed ? 0 : 1));
  const options = before.at(-1) === "--" ? before.slice(0, -1) : before;
  return [...options, ...(isNamed ? [] : [`--package=${text}`]), "--", "node", "-e", "0"];
}

/** Whether npm itself runs it, whose folder is known. */
const isNpm = ({ runner }: PackageStart): boolean => runner === "npx" || runner.startsWith("npm ");
