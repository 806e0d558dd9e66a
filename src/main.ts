#!/usr/bin/env node
/** The process: what it was asked, what surrounds it, and how it ends. */
import "./telemetry/v8-flags.js";
import { fromPerson } from "./cli/exit.js";
import { wasStartedByNpm, watchParent } from "./cli/parent.js";
import { runCommandLine } from "./cli/program.js";
import type { Log, Shell } from "./cli/shell.js";
import { takeSignals } from "./cli/signals.js";
import { within } from "./cli/stop.js";
import { packageVersion } from "./cli/version.js";
import { SERVER_NAME } from "./core/gateway-port.js";
import type { Logger } from "./core/logger.js";
import type { StderrWriter } from "./telemetry/logger.js";
import type { Redactor } from "./telemetry/redact.js";
import { takeSeat } from "./workers/worker.js";

const worker = await takeSeat();
const shell: Shell = {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  signals: worker?.signals ?? takeSignals(process),
  ...(worker !== undefined && { worker }),
  openLog,
  createGateway: async (config, log, orphans) => {
    const [{ createGateway }, { openLedger, settleOrphans }] = await Promise.all([
      import("./gateway.js"),
      import("./orphans.js"),
    ]);
    const ledger = openLedger(process.env, log);
    if (orphans !== undefined) await settleOrphans(ledger, orphans === "end", log);
    const { redact } = log;
    const seat = worker === undefined ? {} : { seat: worker.seat };
    return createGateway(config, { logger: log, redact, version: packageVersion(), ledger, ...seat });
  },
  createPrimary: async ({ config, count, orphans }, logger) => {
    const [{ createPrimary }, { openLedger, settleOrphans }] = await Promise.all([
      import("./primary.js"),
      import("./orphans.js"),
    ]);
    const ledger = openLedger(process.env, logger);
    const settle = () => settleOrphans(ledger, orphans === "end", logger);
    await settle();
    return createPrimary(config, { count, logger, version: packageVersion(), settle });
  },
  inspect: async (rules) => (await import("./inspect.js")).inspect(rules),
  advise: async (config) => (await import("./inspect.js")).advise(config),
  examine: async (server, signal) => {
    const { examine } = await import("./examine.js");
    return examine(server, { gateway: { name: SERVER_NAME, version: packageVersion() }, signal });
  },
};

/** One of each for all logs: so lines come in the order in which they were written, and none shows a secret. */
let shared: { readonly stderr: StderrWriter; readonly redactor: Redactor } | undefined;

async function openLog({ quiet = false }: { readonly quiet?: boolean } = {}): Promise<Log> {
  const [{ createLogger, stderrWriter }, { Redactor }] = await Promise.all([
    import("./telemetry/logger.js"),
    import("./telemetry/redact.js"),
  ]);
  shared ??= { stderr: stderrWriter(), redactor: new Redactor() };
  const { stderr, redactor } = shared;
  const level = quiet && !process.env.CARDEA_LOG_LEVEL ? "warn" : undefined;
  const logger = fromPerson(() =>
    createLogger({ redactor, write: stderr.write, ...(level !== undefined && { level }) }),
  );
  return {
    ...(worker === undefined ? logger : naming(worker.seat.number, logger)),
    hide: (secrets) => redactor.add(secrets),
    redact: (text) => redactor.text(text),
  };
}

/** Every line says which worker wrote it. */
function naming(worker: number, logger: Logger): Logger {
  const say =
    (level: "error" | "warn" | "info" | "debug"): Logger["info"] =>
    (fields, sentence) =>
      logger[level]({ worker, ...fields }, sentence);
  return { ...logger, error: say("error"), warn: say("warn"), info: say("info"), debug: say("debug") };
}

/** Whoever read our output has gone: a closed pipe ends nothing by itself. Any other failure is one. */
function survive(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") crash("the output cannot be written", error);
}
process.stdout.on("error", survive);
process.stderr.on("error", () => {});

/** So long is waited (ms) for whoever reads the log. */
const LAST_LINES_MS = 1_000;

async function exit(code: number): Promise<void> {
  if (shared !== undefined) await within(LAST_LINES_MS, shared.stderr.written());
  process.exit(code);
}

/** Nothing can be known of the state any more, so the process ends; a supervisor starts a new one. */
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
process.on("uncaughtException", (error) => crash("an error that nobody caught; the process ends", error));
process.on("unhandledRejection", (error) =>
  crash("a failure that nobody waited for; the process ends", error),
);
if (wasStartedByNpm(process.env)) watchParent(() => process.kill(process.pid, "SIGTERM"));

runCommandLine(process.argv.slice(2), shell).then(
  (code) => exit(code),
  (error: unknown) => crash("something went wrong that should not", error),
);
