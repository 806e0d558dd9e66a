/** `cardea serve` and `cardea -- CMD`: runs the gateway until a signal, then drains it. */

import { randomBytes } from "node:crypto";
import { serveObstacles } from "../config/advice.js";
import { workersConflict } from "../config/check-rules.js";
import type { Config, ListenConfig } from "../config/config.js";
import { formatProblem, type Problem } from "../config/problem.js";
import { GatewayError } from "../core/errors.js";
import type { Gateway } from "../gateway/gateway.js";
import { collectWhenIdle } from "../runtime/idle-collection.js";
import type { CommandContext, Log, WorkersRequest } from "./command-context.js";
import { messageOf } from "./error-facts.js";
import { asUsageError, EXIT, UsageError } from "./exit.js";
import { sharesLimits } from "./feature.js";
import {
  type ConfigFlags,
  isFlagSet,
  type ListenFlags,
  listenOverrides,
  orphanPolicyFrom,
  type ReapFlag,
  type StrictFlag,
  workerCount,
} from "./flags.js";
import { configOfCommand } from "./host-files/from-command.js";
import { type OpenedConfig, openConfig } from "./open-config.js";
import { stillStarting } from "./ready-line.js";
import { watchAndReload } from "./reload.js";
import { untilStopped } from "./stop.js";
import { strictProblems } from "./strict.js";

/** A gateway, or several workers as one: it starts, may fail, and is stopped. */
type Runnable = Pick<Gateway, "start" | "stop" | "failed" | "hasCutOff"> & Partial<Pick<Gateway, "isUnused">>;

/** The flags of `cardea serve`. */
export type ServeFlags = ConfigFlags & ListenFlags & ReapFlag & StrictFlag;

/** Runs the gateway over HTTP until a signal. Returns the exit code. */
export async function serve(flags: ServeFlags, shell: CommandContext): Promise<number> {
  const overrides = listenOverrides(flags, shell.env);
  const count = workersOf(flags, shell);
  const log = await shell.openLog();
  // The primary process has already logged this.
  const own = shell.worker === undefined ? log : await shell.openLog({ quiet: true });
  const found = await openConfig(shell, own, flags.config, { overrides });
  if (found === undefined) return EXIT.config;
  const isStrict = isFlagSet(flags.strict, "CARDEA_STRICT", shell.env);
  // A worker that is replaced later starts with what the file is then.
  if (isStrict && shell.worker === undefined && (await refuseStrictly(found, shell, log))) return EXIT.config;
  const opened = shell.worker === undefined ? found : asWorker(found, shell.worker.listen);
  const { config } = opened.loaded;
  // When a worker restarts, the config path may differ from that of the primary process.
  const obstacle = shell.worker === undefined ? undefined : conflictOf(config, shell);
  if (obstacle !== undefined) return refuseWorkers(obstacle, log);
  const orphans = orphanPolicyFrom(flags, shell.env);
  const faults = () => addressFaults(opened, flags);
  if (count > 1) return serveByWorkers({ config, count, orphans }, shell, log, faults);
  // With several workers the primary process handles processes left behind by earlier ones.
  const first = firstProcess(shell, orphans);
  const gateway = await shell.createGateway(config, log, first.orphans, first.ownerToken);
  return run(gateway, { shell, log: own, config, ownerToken: first.ownerToken, faults }, () =>
    watchAndReload(gateway, opened, shell, log, { isStrict }),
  );
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
  flags: ListenFlags & ReapFlag,
  [command, ...args]: readonly string[],
  shell: CommandContext,
): Promise<number> {
  if (command === undefined || command === "") throw new UsageError("after -- comes the command of a server");
  const overrides = listenOverrides(flags, shell.env);
  const count = workersOf(flags, shell);
  const config = asUsageError(() => configOfCommand(command, args, { cwd: shell.cwd, overrides }));
  const log = await shell.openLog();
  const orphans = orphanPolicyFrom(flags, shell.env);
  if (count > 1) return serveByWorkers({ config, count, orphans }, shell, log);
  const first = firstProcess(shell, orphans);
  const gateway = await shell.createGateway(config, log, first.orphans, first.ownerToken);
  return run(gateway, { shell, log, config, ownerToken: first.ownerToken }, () => () => {});
}

/** What a worker leaves to the primary process: orphans, and the commands of its user. */
const firstProcess = (shell: CommandContext, orphans: "name" | "end") =>
  shell.worker === undefined
    ? { orphans, ownerToken: randomBytes(32).toString("base64url") }
    : { orphans: undefined, ownerToken: undefined };

const workersOf = (flags: ListenFlags, shell: CommandContext): number =>
  shell.worker === undefined ? workerCount(flags, shell.env) : 1;

/** The same command line in several processes, each of which detects that it is a worker. */
async function serveByWorkers(
  order: WorkersRequest,
  shell: CommandContext,
  log: Log,
  faults?: RunContext["faults"],
): Promise<number> {
  const obstacle = conflictOf(order.config, shell);
  if (obstacle !== undefined) return refuseWorkers(obstacle, log);
  const primary = await shell.createPrimary(order, log);
  return run(primary, { shell, log, config: order.config, ownerToken: undefined, faults }, () =>
    shell.signals.onHangup(() => primary.reload()),
  );
}

const conflictOf = (config: Config, shell: CommandContext): string | undefined =>
  workersConflict(config, sharesLimits(shell.features, config));

function refuseWorkers(obstacle: string, log: Log): number {
  log.error({}, obstacle);
  return EXIT.config;
}

/** The refused addresses in the config. The address of a flag is not a fault of the config. */
function addressFaults(
  { loaded: { config, problemAt } }: OpenedConfig,
  flags: ListenFlags,
): readonly Problem[] {
  const ofFlags = new Set([
    ...(flags.host === undefined ? [] : ["http"]),
    ...(flags.adminHost === undefined ? [] : ["admin"]),
  ]);
  return serveObstacles(config).flatMap(({ path, message }) =>
    ofFlags.has(String(path[1])) ? [] : [problemAt(path, message)],
  );
}

/** All workers share one address, which stays as it was at the start. */
const asWorker = (opened: OpenedConfig, listen: ListenConfig): OpenedConfig => ({
  ...opened,
  loaded: { ...opened.loaded, config: { ...opened.loaded.config, listen } },
});

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
      const running = { url, adminUrl, pid: process.pid, ...(file !== undefined && { config: file }) };
      withdraw = await shell.announceGateway(
        { ...running, ...(ownerToken !== undefined && { token: ownerToken }) },
        log,
      );
      // From the ready line on, commands find the gateway.
      log.info({ url, adminUrl, starting }, `ready: ${url} (admin: ${adminUrl})${stillStarting(starting)}`);
    } else shell.worker.announce(url);
  } catch (error) {
    const problems = error instanceof GatewayError ? faults() : [];
    for (const problem of problems) log.error({}, formatProblem(problem));
    if (problems.length > 0) {
      await served.stop({ immediate: true });
      return EXIT.config;
    }
    // For errors with known advice the stack is omitted.
    const hint = hintFor(error, config.listen);
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
function hintFor(error: unknown, listen: ListenConfig): string | undefined {
  if (error instanceof GatewayError) return "";
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const hint = HINTS.get(error.code);
  if (hint === undefined) return undefined;
  const port = "port" in error ? error.port : undefined;
  const flag = error.code === "EADDRINUSE" ? portFlag(port, listen) : undefined;
  return `; ${hint}${flag === undefined ? "" : ` ${flag} N takes another port, 0 a free one`}`;
}

/** The flag of the listener with this port; both flags if it is the port of neither. */
function portFlag(port: unknown, { http, admin }: ListenConfig): string {
  if (port === admin.port && port !== http.port) return "--admin-port";
  return port === http.port ? "--port" : "--port or --admin-port";
}
