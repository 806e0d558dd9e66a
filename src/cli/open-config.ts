/** Finds and loads the config of a command; logs its path and its problems. */
import { isMisconfigured } from "../config/config.js";
import { type ConfigLocation, findConfig, noConfigMessage } from "../config/find.js";
import { loadConfig } from "../config/load.js";
import { formatProblem } from "../config/problem.js";
import type { GoodConfig, ListenOverrides, ReadOptions } from "../config/read.js";
import type { CommandContext, Log } from "./command-context.js";
import { sectionsOf } from "./feature.js";
import { secretsOf } from "./secrets-of.js";

/** A loaded config and its path. */
export interface OpenedConfig {
  readonly loaded: GoodConfig;
  /** The file name for messages. */
  readonly file: string;
  /** How it was chosen. */
  readonly location: ConfigLocation;
  /** The inputs of the load, for reloading. */
  readonly options: ReadOptions;
}

/** How a config is opened. */
export interface OpenConfigOptions {
  readonly overrides?: ListenOverrides;
  /** False if the command prints the warnings of a valid config itself; default true. */
  readonly logsWarnings?: boolean;
  /** The same for what is wrong with single servers. */
  readonly logsProblems?: boolean;
}

/** `undefined` if there is no valid config; the log has the reasons. */
export async function openConfig(
  shell: CommandContext,
  log: Log,
  flag: string | undefined,
  { overrides = {}, logsWarnings = true, logsProblems = true }: OpenConfigOptions = {},
): Promise<OpenedConfig | undefined> {
  const found = findConfig({ flag, env: shell.env, cwd: shell.cwd });
  if (found === undefined) {
    log.error({}, noConfigMessage(shell));
    return undefined;
  }
  const sections = await sectionsOf(shell.features);
  const options: ReadOptions = { env: shell.env, cwd: shell.cwd, overrides, sections };
  const loaded = await loadConfig(found.file, options);
  if (loaded.ok) log.addSecrets(secretsOf(loaded));
  const { file, by } = found;
  log.info({ file, by }, by === "discovery" ? `using ${file}` : `using ${file}, named by ${by}`);
  const logged = logsWarnings || !loaded.ok ? loaded.warnings : [];
  for (const warning of logged) log.warn({}, formatProblem(warning));
  if (loaded.ok && logsProblems) logServerProblems(loaded, log);
  if (loaded.ok) return { loaded, file, location: found, options };
  for (const problem of loaded.problems) log.error({}, formatProblem(problem));
  return undefined;
}

/** Logs what is wrong with single servers, and that the others are served. */
export function logServerProblems({ problems, config }: GoodConfig, log: Log): void {
  for (const problem of problems) log.error({}, formatProblem(problem));
  const names = config.servers.filter(isMisconfigured).map(({ name }) => name);
  if (names.length === 0) return;
  const are = names.length === 1 ? "1 server is" : `${names.length} servers are`;
  const others = config.servers.length - names.length;
  const rest =
    others === 0 ? "" : others === 1 ? "; the other one is served" : `; the other ${others} are served`;
  log.error({ servers: names }, `${are} misconfigured and not started: ${names.join(", ")}${rest}`);
}
