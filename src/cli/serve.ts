/** `cardea serve` and `cardea -- CMD`: runs the gateway until a signal, then drains it. */
import type { Config } from "../config/config.js";
import { configOfCommand } from "../config/from-command.js";
import type { Gateway } from "../gateway.js";
import { EXIT, UsageError } from "./exit.js";
import { type ConfigFlags, type ListenFlags, listenOverrides, orphansFrom, type ReapFlag } from "./flags.js";
import { openConfig } from "./open-config.js";
import { followConfig } from "./reload.js";
import type { Log, Shell } from "./shell.js";
import { ended } from "./stop.js";

export async function serve(flags: ConfigFlags & ListenFlags & ReapFlag, shell: Shell): Promise<number> {
  const overrides = listenOverrides(flags, shell.env);
  const log = await shell.openLog();
  const opened = await openConfig(shell, log, flags.config, overrides);
  if (opened === undefined) return EXIT.config;
  const gateway = await shell.createGateway(opened.loaded.config, log, orphansFrom(flags, shell.env));
  return run(gateway, shell, log, () => followConfig(gateway, opened, shell, log));
}

/** One stdio server as HTTP, its names as they are. */
export async function serveCommand(
  flags: ListenFlags & ReapFlag,
  [command, ...args]: readonly string[],
  shell: Shell,
): Promise<number> {
  if (command === undefined || command === "") throw new UsageError("after -- comes the command of a server");
  const overrides = listenOverrides(flags, shell.env);
  const config: Config = configOfCommand(command, args, { cwd: shell.cwd, overrides });
  const log = await shell.openLog();
  const gateway = await shell.createGateway(config, log, orphansFrom(flags, shell.env));
  return run(gateway, shell, log, () => () => {});
}

async function run(gateway: Gateway, shell: Shell, log: Log, follow: () => () => void): Promise<number> {
  const ending = ended(gateway, shell, log);
  const started = gateway.start().then(({ url, adminUrl }) => {
    log.info({ url, adminUrl }, `ready: ${url} (admin: ${adminUrl})`);
    return undefined;
  });
  try {
    // A signal may come first; then nobody waits for a gateway that is half started.
    const early = await Promise.race([started, ending]);
    if (early !== undefined) return early;
  } catch (error) {
    log.error({ error }, `the gateway cannot start: ${reason(error)}`);
    await gateway.stop({ immediate: true });
    return EXIT.failed;
  }
  const unfollow = follow();
  try {
    return await ending;
  } finally {
    unfollow();
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return "something unexpected happened";
  if ("code" in error && error.code === "EADDRINUSE") return `${error.message}; is it running already?`;
  return error.message;
}
