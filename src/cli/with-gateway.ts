/**
 * Gives a command access to the servers of the config: through a running gateway, or through its own without a
 * listener.
 */
import type { Config } from "../config/config.js";
import { GatewayError } from "../core/errors.js";
import { type Settled, settle, withTimeout } from "../core/stop.js";
import type { OnServer, ServerOutcome } from "../gateway/views/cli-calls.js";
import { isObject, type JsonObject } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";
import { refusalToStart } from "./agreement.js";
import type { CommandContext, Log } from "./command-context.js";
import { EXIT, UsageError } from "./exit.js";
import { type ConfigFlags, type GatewayFlags, gatewayOptions, type YesFlag } from "./flags.js";
import {
  type GatewayClient,
  type RemoteGateway,
  type RemoteStatus,
  remoteGateway,
} from "./gateway-client.js";
import { openConfig } from "./open-config.js";
import { gatewayOfConfig, runningGateways } from "./run-files.js";
import { secretsOf } from "./secrets-of.js";

/** How long (ms) the gateway waits for its servers to exit. */
const SHUTDOWN_MS = 5_000;

/** Timeout (ms) for a running gateway to identify its process. */
const PROBE_MS = 2_000;

/** A running gateway applies a changed file within this time (ms). */
const RELOAD_MS = 3_000;
const RELOAD_POLL_MS = 100;

/** The work of a command with a gateway; `config` is absent if only its URL is known. */
type Work = (gateway: GatewayClient, log: Log, config: Config | undefined) => Promise<number>;

interface WithGatewayOptions {
  readonly flags: ConfigFlags & GatewayFlags & YesFlag;
  readonly shell: CommandContext;
  /** Whether the command's own gateway starts all servers, including those with cached lists. Default: false. */
  readonly startsAll?: boolean;
  /** The config of the command's own gateway, such as one without servers that the command need not start. Default: the config. */
  readonly narrow?: (config: Config) => Promise<Config>;
  /** Whether the command calls a tool, which not every running gateway allows. Default: false. */
  readonly calls?: boolean;
}

/**
 * Runs `work` with the gateway at `--url`, otherwise with a running one that serves the same config, otherwise with its
 * own, which is stopped afterwards.
 *
 * @returns the exit code: that of `work`, or the one for an invalid config, a signal or a failed call
 */
export async function withGateway(options: WithGatewayOptions, work: Work): Promise<number> {
  const { flags, shell } = options;
  const { url, token, fresh } = gatewayOptions(flags, shell.env);
  const log = await shell.openLog();
  log.addSecrets(token === undefined ? [] : [token]);
  if (url !== undefined) {
    const known = (await runningGateways(shell.env)).find(({ adminUrl }) => adminUrl === trimmed(url));
    const gateway = remoteGateway({ adminUrl: url, token: token ?? known?.token });
    return guarded(log, shell, () => work(gateway, log, undefined));
  }
  const opened = await openConfig(shell, log, flags.config);
  if (opened === undefined) return EXIT.config;
  const { config } = opened.loaded;
  const running = fresh ? undefined : await findRunning(options, config, { token, log });
  if (running !== undefined) {
    const { pid, adminUrl, gateway } = running;
    log.info(
      { pid, adminUrl },
      `asking the gateway that runs with this config (pid ${pid}); --fresh starts the servers instead`,
    );
    return guarded(log, shell, () => work(gateway, log, config));
  }
  const refusal = await refusalToStart(opened, flags, shell, log);
  if (refusal !== undefined) return refusal;
  const quiet = await shell.openLog({ quiet: true });
  quiet.addSecrets(secretsOf(opened.loaded));
  const own = (await options.narrow?.(config)) ?? config;
  const gateway = await shell.createGateway(options.startsAll === true ? startingAll(own) : own, quiet);
  try {
    return await guarded(log, shell, () => work(gateway, log, config));
  } finally {
    await withTimeout(SHUTDOWN_MS, settle(gateway.stop({ immediate: true })));
  }
}

/** The config with all servers starting eagerly, so that the gateway has their current lists. */
const startingAll = (config: Config): Config => ({
  ...config,
  servers: config.servers.map((server) => ({ ...server, start: "eager" as const })),
});

const trimmed = (url: string): string => url.replace(/\/+$/, "");

/** The running gateway that serves this config file; undefined if none responds in time. */
async function findRunning(
  { shell, calls = false }: WithGatewayOptions,
  { file, digest }: Config,
  { token, log }: { readonly token: string | undefined; readonly log: Log },
) {
  const found = file === undefined ? undefined : await gatewayOfConfig(shell.env, file);
  if (found?.adminUrl === undefined) return undefined;
  // Several processes as one gateway make no calls for commands.
  if (calls && found.token === undefined) return undefined;
  const { adminUrl, pid } = found;
  const gateway = remoteGateway({ adminUrl, token: found.token ?? token });
  // The command may run right after a change of the file.
  const isStale = (status: Settled<RemoteStatus> | undefined): boolean =>
    status?.ok === true &&
    status.value.pid === pid &&
    ![undefined, digest].includes(status.value.configDigest);
  let status = await probe(gateway);
  for (let waited = 0; isStale(status) && waited < RELOAD_MS; waited += RELOAD_POLL_MS) {
    await shell.wait(RELOAD_POLL_MS);
    status = await probe(gateway);
  }
  const running = `the gateway that runs with this config (pid ${pid})`;
  if (status === undefined) {
    log.warn({ pid, adminUrl }, `${running} does not answer at ${adminUrl}; the servers are started instead`);
    return undefined;
  }
  if (!status.ok || status.value.pid !== pid) return undefined;
  if (isStale(status)) {
    log.warn(
      { pid, file },
      `${running} has not taken over ${file} as it is now, and answers by the config before; its log says why, and --fresh starts the servers instead`,
    );
  }
  return { pid, adminUrl, gateway };
}

/** The identity of the gateway; undefined if it does not respond in time. */
async function probe(gateway: RemoteGateway): Promise<Settled<RemoteStatus> | undefined> {
  const stop = new AbortController();
  const answered = await withTimeout(PROBE_MS, settle(gateway.status(stop.signal)));
  stop.abort();
  return answered;
}

async function guarded(log: Log, shell: CommandContext, work: () => Promise<number>): Promise<number> {
  const interrupted = shell.signals.next().then(() => EXIT.failed);
  try {
    return await Promise.race([work(), interrupted]);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.error({ code: error.code }, error.message);
    return error.code === "upstream_unavailable" ? EXIT.unavailable : EXIT.failed;
  }
}

/** Logs each server that has listed, while the others are still starting; once, however often the command waits for it. */
export const progressTo = (log: Log): OnServer => {
  const named = new Set<string>();
  return ({ server, ok, tools }) => {
    if (!ok || named.has(server)) return;
    named.add(server);
    log.info({ server, tools }, `${server}: ${tools === 1 ? "1 tool" : `${tools} tools`}`);
  };
};

/** Warns of servers that are missing from lists. Returns whether there are any. */
export function warnMissing(log: Log, missing: readonly ServerOutcome[]): boolean {
  if (missing.length === 0) return false;
  const named = missing.map(({ server, error }) => (error === undefined ? server : `${server} (${error})`));
  const count = missing.length === 1 ? "1 server is missing" : `${missing.length} servers are missing`;
  log.warn(
    { servers: missing.map(({ server }) => server) },
    `${count}: ${named.join("; ")}; cardea doctor says what to do`,
  );
  return true;
}

/**
 * The arguments of a tool, as written on a command line: one JSON object, or `name=text` and `name:=json`.
 *
 * @throws UsageError if they are neither
 */
export function parseArguments(words: readonly string[]): JsonObject {
  const [first, ...more] = words;
  if (first === undefined) return {};
  if (more.length === 0 && (/^\s*[{[]/.test(first) || !first.includes("="))) return parseObject(first);
  const members = new Map<string, unknown>();
  for (const word of words) {
    const [, name, sign, text = ""] = /^([^=]+?)(:?=)(.*)$/s.exec(word) ?? [];
    if (name === undefined) {
      throw new UsageError(`${JSON.stringify(word)} is no argument; write name=text or name:=json`);
    }
    if (members.has(name)) throw new UsageError(`the argument ${JSON.stringify(name)} is given twice`);
    members.set(name, sign === "=" ? text : parseValue(name, text));
  }
  return Object.fromEntries(members);
}

function parseObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new UsageError(
      'the arguments are not JSON; write name=text and name:=json, or one word: \'{"name": "value"}\'',
    );
  }
  if (!isObject(value)) throw new UsageError("the arguments must be a JSON object");
  return value;
}

function parseValue(name: string, text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new UsageError(
      `what follows ${name}:= is not JSON; text is written ${name}=text, and quotes need quotes around them: '${name}:="text"'`,
    );
  }
}
