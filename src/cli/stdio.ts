/** `cardea stdio` and `cardea connect URL`: the gateway as a stdio MCP server, for hosts that only start commands. */

import type { Gateway } from "../gateway/gateway.js";
import { collectWhenIdle } from "../runtime/idle-collection.js";
import type { CommandContext, Log } from "./command-context.js";
import { asUsageError, EXIT, UsageError } from "./exit.js";
import { type ConfigFlags, orphanPolicyFrom, type ReapFlag } from "./flags.js";
import { configOfUrl } from "./host-files/from-command.js";
import { openConfig } from "./open-config.js";
import { stillStarting } from "./ready-line.js";
import { watchAndReload } from "./reload.js";
import { gatewayOfConfig } from "./run-files.js";
import { untilStopped } from "./stop.js";

/** Runs the gateway on stdin and stdout until the input ends. Returns the exit code. */
export async function stdio(flags: ConfigFlags & ReapFlag, shell: CommandContext): Promise<number> {
  const log = await shell.openLog();
  const opened = await openConfig(shell, log, flags.config);
  if (opened === undefined) return EXIT.config;
  await mentionRunningGateway(opened.loaded.config.file, shell, log);
  const gateway = await shell.createGateway(opened.loaded.config, log, orphanPolicyFrom(flags, shell.env));
  const unfollow = watchAndReload(gateway, opened, shell, log);
  try {
    return await run(gateway, shell, log);
  } finally {
    unfollow();
  }
}

/** A gateway with the same config is running: its servers need not be started twice. */
async function mentionRunningGateway(
  config: string | undefined,
  shell: CommandContext,
  log: Log,
): Promise<void> {
  const url = config === undefined ? undefined : (await gatewayOfConfig(shell.env, config))?.url;
  if (url === undefined) return;
  log.info(
    { url },
    `a gateway with this config runs at ${url} already; "cardea connect ${url}" shares it with this host`,
  );
}

/** One HTTP server as stdio, with its own names. */
export async function connect(
  url: string,
  flags: { readonly header?: readonly string[] },
  shell: CommandContext,
): Promise<number> {
  const lines = flags.header ?? (shell.env.CARDEA_HEADER ?? "").split("\n").filter((line) => line !== "");
  const headers = Object.fromEntries(lines.map(parseHeader));
  const log = await shell.openLog();
  log.addSecrets(Object.values(headers));
  const config = asUsageError(() => configOfUrl(url, headers, { cwd: shell.cwd }));
  // The arguments of a process are visible to all users of the machine.
  if (flags.header !== undefined) process.title = "cardea connect";
  return run(await shell.createGateway(config, log), shell, log);
}

/** @throws UsageError; the message shows nothing of it, because a header may be a secret */
function parseHeader(line: string): [string, string] {
  const [, name, value] = /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError("--header takes a name, a colon and a value: --header 'Authorization: Bearer …'");
  }
  return [name, value];
}

async function run(gateway: Gateway, shell: CommandContext, log: Log): Promise<number> {
  // stdio has no HTTP authorization: credentials come from the environment (basic/authorization).
  const hostGone = gateway.stdio(shell.stdin, shell.stdout, shell.env.CARDEA_PRINCIPAL || undefined);
  const starting = gateway.starting();
  log.info({ starting }, `ready: serving on stdin and stdout${stillStarting(starting)}`);
  const stopCollecting = collectWhenIdle(log, () => gateway.isUnused());
  return untilStopped(gateway, shell, log, hostGone).finally(stopCollecting);
}
