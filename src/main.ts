#!/usr/bin/env node
/** How the process starts, what it gives to the commands, and how it ends. */
import "./runtime/v8-flags.js";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { CommandContext, Log } from "./cli/command-context.js";
import { asUsageError } from "./cli/exit.js";
import { channelsOf, type FeatureContext, type ProbedServer } from "./cli/feature.js";
import { packageVersion } from "./cli/help.js";
import { checkFeatures, openFeatures } from "./cli/open-features.js";
import { wasStartedByNpm, watchParent } from "./cli/parent.js";
import { runCommandLine } from "./cli/program.js";
import { servingModeOf } from "./cli/serving-mode.js";
import { takeSignals } from "./cli/signals.js";
import type { Config } from "./config/config.js";
import { SERVER_NAME } from "./core/gateway-api.js";
import { type Logger, SILENT } from "./core/logger.js";
import type { OwnStore } from "./core/shared-store.js";
import { settle, withTimeout } from "./core/stop.js";
import { FEATURES } from "./features/index.js";
import type { StderrWriter } from "./telemetry/logger.js";
import type { Redactor } from "./telemetry/redact.js";

/** This process as one of several; undefined if it serves alone, or does not serve. */
const worker = await servingModeOf(FEATURES)?.join();
const shell: CommandContext = {
  env: process.env,
  features: FEATURES,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signals: worker?.signals ?? takeSignals(process),
  wait: (ms) => delay(ms),
  ...(worker !== undefined && { worker }),
  openLog,
  createGateway: async (config, log, orphans, ownerToken) => {
    const [{ createGateway }, { openProcessRegistry, handleOrphans }, { stateFolder }] = await Promise.all([
      import("./gateway/gateway.js"),
      import("./upstream/supervision/orphans.js"),
      import("./state/state-folder.js"),
    ]);
    const processRegistry = openProcessRegistry(stateFolder(process.env), log);
    if (orphans !== undefined) await handleOrphans(processRegistry, orphans === "end", log);
    const { redact } = log;
    const version = packageVersion();
    const servesHosts = ownerToken !== undefined || worker !== undefined;
    const features = await openFeatures(FEATURES, config, await featureContext(config, log, servesHosts));
    const isReplica = features.some(({ shared }) => shared?.replica !== undefined);
    const sessionFiles = servesHosts && !isReplica ? await openSessionFiles(config, log) : undefined;
    return createGateway(config, {
      logger: log,
      redact,
      version,
      processRegistry,
      ...(sessionFiles !== undefined && { sessionFiles }),
      features,
      channels: channelsOf(FEATURES),
      ...(ownerToken !== undefined && { ownerToken }),
      ...(worker !== undefined && { member: worker.member }),
    });
  },
  openServing: async (run, config, { orphans, ownerToken }, logger) => {
    await checkFeatures(FEATURES, config, await featureContext(config, logger));
    const [{ openProcessRegistry, handleOrphans }, { stateFolder }] = await Promise.all([
      import("./upstream/supervision/orphans.js"),
      import("./state/state-folder.js"),
    ]);
    const registry = openProcessRegistry(stateFolder(process.env), logger);
    const onProcessLost = () => handleOrphans(registry, orphans === "end", logger);
    await onProcessLost();
    const version = packageVersion();
    return run.open(config, { logger, version, features: FEATURES, ownerToken, onProcessLost });
  },
  useStateFolder: (folder) => {
    process.env.CARDEA_STATE_DIR = folder;
  },
  announceGateway: async (gateway, log) => {
    const { writeRunFile } = await import("./cli/run-files.js");
    return writeRunFile(process.env, gateway, log);
  },
  openStore: openSharedStore,
  findings: async (config) => {
    const found = await Promise.all(
      FEATURES.map(
        async (feature) => [feature.name, await feature.findings?.(config, packageVersion())] as const,
      ),
    );
    return Object.fromEntries(found.flatMap(([name, all]) => (all === undefined ? [] : [[name, all]])));
  },
  probe: async (server, signal, config) => {
    const { probeServer } = await import("./cli/probe.js");
    const gateway = { name: SERVER_NAME, version: packageVersion() };
    const context = await featureContext(config, SILENT);
    const layers = await Promise.all(FEATURES.map(async (feature) => feature.startLayer?.(config, context)));
    const startLayers = layers.filter((layer) => layer !== undefined);
    const connect: ProbedServer["connect"] = (credentials) =>
      probeServer(server, { gateway, signal, credentials, startLayers, channels: channelsOf(FEATURES) });
    const prober = FEATURES.find((feature) => feature.probe !== undefined);
    if (prober?.probe === undefined) return connect(undefined);
    const store = server.auth === undefined ? undefined : await openSharedStore(config, SILENT);
    try {
      return await prober.probe({ server, config, store, connect }, context);
    } finally {
      await store?.close();
    }
  },
};

/** Shared by all logs of the process: lines keep their order, and each secret is known to all. */
let logSinks: { readonly stderr: StderrWriter; readonly redactor: Redactor } | undefined;

async function openLog({ quiet = false }: { readonly quiet?: boolean } = {}): Promise<Log> {
  const [{ createLogger, stderrWriter }, { Redactor }] = await Promise.all([
    import("./telemetry/logger.js"),
    import("./telemetry/redact.js"),
  ]);
  logSinks ??= { stderr: stderrWriter(), redactor: new Redactor() };
  const { stderr, redactor } = logSinks;
  const level = quiet && !process.env.CARDEA_LOG_LEVEL ? "warn" : undefined;
  const logger = asUsageError(() =>
    createLogger({ redactor, write: stderr.write, ...(level !== undefined && { level }) }),
  );
  return {
    ...(worker === undefined ? logger : withWorkerField(worker.member.number, logger)),
    addSecrets: (secrets) => redactor.add(secrets),
    redact: (text) => redactor.text(text),
  };
}

/** The store that this config shares with other processes; undefined if nothing of this process is in it. */
async function openSharedStore(config: Config, logger: Logger): Promise<OwnStore | undefined> {
  for (const feature of FEATURES) {
    const store = await feature.openStore?.(config, logger);
    if (store !== undefined) return store;
  }
  return undefined;
}

/** Where the sessions of hosts over HTTP are kept for the next process that serves this config. */
async function openSessionFiles(config: Config, log: Logger) {
  const [{ SessionFiles }, { stateFolder }] = await Promise.all([
    import("./state/sessions/session-files.js"),
    import("./state/state-folder.js"),
  ]);
  const command = `command in ${process.cwd()}: ${process.argv.slice(2).join("\0")}`;
  const scope = config.file === undefined ? command : resolve(config.file);
  const folder = join(stateFolder(process.env), "sessions");
  return new SessionFiles({ folder, scope, secret: config.keys?.state, log });
}

/** What features may use of this process. */
async function featureContext(
  config: Config,
  log: Logger & Partial<Log>,
  servesHosts = false,
): Promise<FeatureContext> {
  const { stateFolder } = await import("./state/state-folder.js");
  return {
    env: process.env,
    stateFolder: stateFolder(process.env),
    logger: log,
    redact: log.redact ?? ((text) => text),
    version: packageVersion(),
    worker: worker?.member.number,
    configDigest: config.digest,
    servesHosts,
  };
}

/** Adds the number of the process to every line. */
function withWorkerField(worker: number, logger: Logger): Logger {
  const logAt =
    (level: "error" | "warn" | "info" | "debug"): Logger["info"] =>
    (fields, sentence) =>
      logger[level]({ worker, ...fields }, sentence);
  return {
    ...logger,
    error: logAt("error"),
    warn: logAt("warn"),
    info: logAt("info"),
    debug: logAt("debug"),
  };
}

/** EPIPE is ignored: when the reader of stdout is gone, the command still ends in its own way. Other errors are fatal. */
function onStdoutError(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") crash("stdout cannot be written; exiting", error);
}
process.stdout.on("error", onStdoutError);
process.stderr.on("error", () => {});

/** Time limit (ms) for flushing the log to stderr before the process exits. */
const LOG_FLUSH_MS = 1_000;

async function exit(code: number): Promise<void> {
  if (logSinks !== undefined) await withTimeout(LOG_FLUSH_MS, settle(logSinks.stderr.flushed()));
  process.exit(code);
}

/** Exits with 1 after an unexpected error: the state is undefined, and a supervisor starts a new process. */
function crash(sentence: string, error: unknown): void {
  process.exitCode = 1;
  void openLog().then(
    (log) => {
      log.error({ error }, sentence);
      return exit(1);
    },
    () => exit(1),
  );
}
process.on("uncaughtException", (error) => crash("uncaughtException; exiting", error));
process.on("unhandledRejection", (error) => crash("unhandledRejection; exiting", error));
if (wasStartedByNpm(process.env)) watchParent(() => process.kill(process.pid, "SIGTERM"));

runCommandLine(process.argv.slice(2), shell).then(
  (code) => exit(code),
  (error: unknown) => crash("internal error; exiting", error),
);
