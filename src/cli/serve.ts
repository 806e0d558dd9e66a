/** `cardea serve` and `cardea -- CMD`: runs the gateway until a signal, then drains it. */

import { randomBytes } from "node:crypto";
import { serveObstacles } from "../config/advice.js";
import type { Config } from "../config/config.js";
import { formatProblem, type Problem } from "../config/problem.js";
import type { GoodConfig } from "../config/read.js";
import type { Path } from "../config/tree.js";
import { GatewayError } from "../core/errors.js";
import { collectWhenIdle } from "../runtime/idle-collection.js";
import type { CommandContext, Log } from "./command-context.js";
import { messageOf } from "./error-facts.js";
import { asUsageError, EXIT, UsageError } from "./exit.js";
import { type Feature, sectionsOf } from "./feature.js";
import {
  type ConfigFlags,
  isFlagSet,
  type ListenFlags,
  listenOverrides,
  orphanPolicyFrom,
  type ReapFlag,
  type StrictFlag,
} from "./flags.js";
import { configOfCommand } from "./host-files/from-command.js";
import { ineffectiveByKeptLists } from "./kept-lists.js";
import { type OpenedConfig, openConfig } from "./open-config.js";
import { hintsOf, stillStarting } from "./ready-line.js";
import { watchAndReload } from "./reload.js";
import { isReplaced, type ServeFlagValues, settingFlags } from "./serve-flags.js";
import {
  type JoinedProcess,
  type Served,
  type ServingRun,
  servingConflict,
  servingModeOf,
} from "./serving-mode.js";
import { untilStopped } from "./stop.js";
import { placed, strictProblems } from "./strict.js";
import { isTerminal } from "./terminal.js";
import { IneffectiveWarnings } from "./warn-ineffective.js";

/** A gateway, or several processes as one: it starts, may fail, and is stopped. */
type Runnable = Omit<Served, "reload"> & { isUnused?(): boolean };

/** The flags of `cardea serve`, with those of features. */
export type ServeFlags = ConfigFlags & ListenFlags & ReapFlag & StrictFlag & ServeFlagValues;

/** Runs the gateway over HTTP until a signal. Returns the exit code. */
export async function serve(flags: ServeFlags, shell: CommandContext): Promise<number> {
  const overrides = listenOverrides(flags, shell.env, shell.features);
  const several = severalAsked(flags, shell);
  const log = await shell.openLog();
  // The process that has started this one has already logged this.
  const own = shell.worker === undefined ? log : await shell.openLog({ quiet: true });
  const found = await openConfig(shell, own, flags.config, { overrides });
  if (found === undefined) return EXIT.config;
  const isStrict = isFlagSet(flags.strict, "CARDEA_STRICT", shell.env);
  // One of several that is replaced later starts with what the file is then.
  if (isStrict && shell.worker === undefined && (await refuseStrictly(found, shell, log))) return EXIT.config;
  const opened = shell.worker === undefined ? found : atAddress(found, shell.worker);
  const { config } = opened.loaded;
  // When one of several restarts, the config path may differ from that of the process that starts it.
  const obstacle = shell.worker === undefined ? undefined : servingConflict(shell.features, config);
  if (obstacle !== undefined) return refuseSeveral(obstacle, log);
  const orphans = orphanPolicyFrom(flags, shell.env);
  const faults = () => addressFaults(opened, flags, shell.features);
  if (several !== undefined) {
    // This process has no gateway whose lists it could look at.
    const ineffective = placed(await ineffectiveByKeptLists(config, shell), opened.loaded);
    for (const problem of ineffective) log.warn({}, formatProblem(problem));
    return serveBySeveral(several, { config, orphans, faults }, shell, log);
  }
  // With several processes the first one handles what earlier ones left behind.
  const first = firstProcess(shell, orphans);
  const gateway = await shell.createGateway(config, log, first.orphans, first.ownerToken);
  return run(gateway, { shell, log: own, config, ownerToken: first.ownerToken, faults }, () => {
    const ineffective = new IneffectiveWarnings(gateway, shell, log);
    const checkLists = (loaded: GoodConfig): void => ineffective.check(loaded);
    checkLists(opened.loaded);
    const unwatch = watchAndReload(gateway, opened, shell, log, { isStrict, onApplied: checkLists });
    return () => {
      unwatch();
      ineffective.close();
    };
  });
}

/** Whether the config has a problem or a warning; they are logged. */
async function refuseStrictly(
  { file, loaded }: OpenedConfig,
  shell: CommandContext,
  log: Log,
): Promise<boolean> {
  const unwanted = await strictProblems(loaded, shell);
  if (unwanted.length === 0) return false;
  for (const problem of unwanted) log.error({}, formatProblem(problem));
  const count = unwanted.length === 1 ? "1 problem or warning" : `${unwanted.length} problems or warnings`;
  log.error({ file }, `the gateway does not start: ${file} has ${count}, and --strict allows none`);
  return true;
}

/** One stdio server as HTTP, with its own names. */
export async function serveCommand(
  flags: ListenFlags & ReapFlag & ServeFlagValues,
  [command, ...args]: readonly string[],
  shell: CommandContext,
): Promise<number> {
  if (command === undefined || command === "") throw new UsageError("after -- comes the command of a server");
  const overrides = listenOverrides(flags, shell.env, shell.features);
  const several = severalAsked(flags, shell);
  const sections = await sectionsOf(shell.features);
  const config = asUsageError(() => configOfCommand(command, args, { cwd: shell.cwd, overrides, sections }));
  const log = await shell.openLog();
  const orphans = orphanPolicyFrom(flags, shell.env);
  if (several !== undefined) return serveBySeveral(several, { config, orphans }, shell, log);
  const first = firstProcess(shell, orphans);
  const gateway = await shell.createGateway(config, log, first.orphans, first.ownerToken);
  return run(gateway, { shell, log, config, ownerToken: first.ownerToken }, () => () => {});
}

/** What one of several processes leaves to the one that has started it: orphans, and the commands of its user. */
const firstProcess = (shell: CommandContext, orphans: "name" | "end") =>
  shell.worker === undefined
    ? { orphans, ownerToken: newOwnerToken() }
    : { orphans: undefined, ownerToken: undefined };

const newOwnerToken = (): string => randomBytes(32).toString("base64url");

/** What a feature is asked to serve with; one of several processes starts no further ones. */
const severalAsked = (flags: ServeFlagValues, shell: CommandContext): ServingRun | undefined =>
  shell.worker === undefined ? servingModeOf(shell.features)?.asked(flags, shell.env) : undefined;

/** What several processes serve. */
interface ServingOrder extends Pick<RunContext, "config" | "faults"> {
  /** What happens to processes that a gateway left behind. */
  readonly orphans: "name" | "end";
}

/** The same command line in several processes, each of which detects that it is one of them. */
async function serveBySeveral(
  several: ServingRun,
  { config, orphans, faults }: ServingOrder,
  shell: CommandContext,
  log: Log,
): Promise<number> {
  const obstacle = servingConflict(shell.features, config);
  if (obstacle !== undefined) return refuseSeveral(obstacle, log);
  const ownerToken = newOwnerToken();
  const served = await shell.openServing(several, config, { orphans, ownerToken }, log);
  return run(served, { shell, log, config, ownerToken, faults }, () =>
    shell.signals.onHangup(() => served.reload()),
  );
}

function refuseSeveral({ message }: { readonly message: string }, log: Log): number {
  log.error({}, message);
  return EXIT.config;
}

/** The refused addresses in the config. The address of a flag is not a fault of the config. */
function addressFaults(
  { loaded: { config, sections, problemAt } }: OpenedConfig,
  flags: ListenFlags & ServeFlagValues,
  features: readonly Feature[],
): readonly Problem[] {
  const isOfFlag = (path: Path): boolean =>
    path[1] === "http" ? flags.host !== undefined : isReplaced(features, flags, path);
  return serveObstacles(config, sections).flatMap(({ path, message }) =>
    isOfFlag(path) ? [] : [problemAt(path, message)],
  );
}

/** All processes share their addresses, which stay as they were at the start. */
function atAddress(
  { loaded, ...opened }: OpenedConfig,
  { listen, sections }: Pick<JoinedProcess, "listen" | "sections">,
): OpenedConfig {
  const features = { ...loaded.config.features, ...sections };
  return { ...opened, loaded: { ...loaded, config: { ...loaded.config, listen, features } } };
}

interface RunContext {
  readonly shell: CommandContext;
  readonly log: Log;
  readonly config: Config;
  /** Lets commands of the same user use the admin listener. */
  readonly ownerToken: string | undefined;
  /** The faults of the config, if the gateway refuses to start. Default: none. */
  readonly faults?: (() => readonly Problem[]) | undefined;
}

async function run(
  served: Runnable,
  { shell, log, config, ownerToken, faults = () => [] }: RunContext,
  follow: () => () => void,
): Promise<number> {
  const stopped = untilStopped(served, shell, log);
  let withdraw = async (): Promise<void> => {};
  try {
    // A signal may arrive first; then the start is not awaited.
    const early = await Promise.race([served.start(), stopped]);
    if (typeof early === "number") return early;
    const { url, adminUrl, starting } = early;
    if (shell.worker === undefined) {
      const { file } = config;
      const running = {
        ...{ url, pid: process.pid },
        ...(adminUrl !== undefined && { adminUrl }),
        ...(file !== undefined && { config: file }),
      };
      withdraw = await shell.announceGateway(
        { ...running, ...(ownerToken !== undefined && { token: ownerToken }) },
        log,
      );
      // From the ready line on, commands find the gateway.
      log.info(
        { url, adminUrl, starting },
        `ready: ${url}${adminUrl === undefined ? "" : ` (admin: ${adminUrl})`}${stillStarting(starting)}`,
      );
      if (isTerminal(shell.stderr, shell.env))
        for (const hint of hintsOf(shell.features, running)) log.info({}, hint);
    } else shell.worker.announce(url);
  } catch (error) {
    const problems = error instanceof GatewayError ? faults() : [];
    for (const problem of problems) log.error({}, formatProblem(problem));
    if (problems.length > 0) {
      await served.stop({ immediate: true });
      return EXIT.config;
    }
    // For errors with known advice the stack is omitted.
    const hint = hintFor(error, config, shell.features);
    log.error(
      hint === undefined ? { error } : {},
      `the gateway cannot start: ${messageOf(error)}${hint ?? ""}`,
    );
    await served.stop({ immediate: true });
    return EXIT.failed;
  }
  const unfollow = follow();
  const stopCollecting = collectWhenIdle(log, () => served.isUnused?.() ?? true);
  try {
    return await stopped;
  } finally {
    stopCollecting();
    unfollow();
    await withdraw();
  }
}

/** System errors, explained for the person who must fix them. */
const HINTS: ReadonlyMap<unknown, string> = new Map([
  ["EADDRINUSE", "is it running already?"],
  ["EACCES", "ports below 1024 need root or CAP_NET_BIND_SERVICE"],
  ["EADDRNOTAVAIL", "this machine has no such address"],
  ["ENOTFOUND", "there is no such host"],
]);

/** Advice; undefined for an unknown error. GatewayErrors contain their own. */
function hintFor(error: unknown, config: Config, features: readonly Feature[]): string | undefined {
  if (error instanceof GatewayError) return "";
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const hint = HINTS.get(error.code);
  if (hint === undefined) return undefined;
  const port = "port" in error ? error.port : undefined;
  const flag = error.code === "EADDRINUSE" ? portFlags(port, config, features) : undefined;
  return `; ${hint}${flag === undefined ? "" : ` ${flag} N takes another port, 0 a free one`}`;
}

/** The flag of the listener with this port; all such flags if it is the port of none. */
function portFlags(
  port: unknown,
  { listen, features: settings }: Config,
  features: readonly Feature[],
): string {
  const ports = [
    { name: "--port", port: listen.http.port },
    ...settingFlags(features, {})
      .filter(({ kind }) => kind === "port")
      .map(({ name, section, key }) => ({ name, port: memberOf(settings[section], key) })),
  ];
  return ports.find((each) => each.port === port)?.name ?? ports.map(({ name }) => name).join(" or ");
}

const memberOf = (settings: unknown, key: string): unknown =>
  (settings as Readonly<Record<string, unknown>> | undefined)?.[key];
