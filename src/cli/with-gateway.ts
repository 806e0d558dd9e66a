/** Runs a command against the servers of the config, without listening to anybody. */

import { GatewayError } from "../core/errors.js";
import { settle, withTimeout } from "../core/timeouts.js";
import type { Gateway } from "../gateway/gateway.js";
import type { CommandContext, Log } from "./command-context.js";
import { EXIT } from "./exit.js";
import type { ConfigFlags } from "./flags.js";
import { openConfig } from "./open-config.js";
import { secretsOf } from "./secrets-of.js";

/** Servers that take longer than this to go are left to end by themselves, in ms. */
const SHUTDOWN_MS = 5_000;

export async function withGateway(
  flags: ConfigFlags,
  shell: CommandContext,
  work: (gateway: Gateway, log: Log) => Promise<number>,
): Promise<number> {
  const log = await shell.openLog();
  const opened = await openConfig(shell, log, flags.config);
  if (opened === undefined) return EXIT.config;
  const quiet = await shell.openLog({ quiet: true });
  quiet.addSecrets(secretsOf(opened.loaded));
  const gateway = await shell.createGateway(opened.loaded.config, quiet);
  const interrupted = shell.signals.next().then(() => EXIT.failed);
  try {
    return await Promise.race([work(gateway, log), interrupted]);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.error({ code: error.code }, error.message);
    return error.code === "upstream_unavailable" ? EXIT.unavailable : EXIT.failed;
  } finally {
    await withTimeout(SHUTDOWN_MS, settle(gateway.stop({ immediate: true })));
  }
}
