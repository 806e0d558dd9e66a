/** Runs a command against the servers of the config, without listening to anybody. */
import { GatewayError } from "../core/errors.js";
import type { Gateway } from "../gateway.js";
import { EXIT } from "./exit.js";
import type { ConfigFlags } from "./flags.js";
import { openConfig } from "./open-config.js";
import { secretsOf } from "./secrets-of.js";
import type { Log, Shell } from "./shell.js";
import { within } from "./stop.js";

/** Servers that take longer than this to go are left to end by themselves, in ms. */
const FAREWELL_MS = 5_000;

export async function withServers(
  flags: ConfigFlags,
  shell: Shell,
  work: (gateway: Gateway, log: Log) => Promise<number>,
): Promise<number> {
  const log = await shell.openLog();
  const opened = await openConfig(shell, log, flags.config);
  if (opened === undefined) return EXIT.config;
  const quiet = await shell.openLog({ quiet: true });
  quiet.hide(secretsOf(opened.loaded));
  const gateway = await shell.createGateway(opened.loaded.config, quiet);
  const interrupted = shell.signals.next().then(() => EXIT.failed);
  try {
    return await Promise.race([work(gateway, log), interrupted]);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.error({ code: error.code }, error.message);
    return error.code === "upstream_unavailable" ? EXIT.unavailable : EXIT.failed;
  } finally {
    await within(FAREWELL_MS, gateway.stop({ immediate: true }));
  }
}
