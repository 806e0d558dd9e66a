/** Chooses the sign-ins for a command: those of a running gateway, otherwise those of the vault on this machine. */

import type { CommandContext, Log } from "../../../cli/command-context.js";
import { type ConfigFlags, type GatewayFlags, gatewayOptions } from "../../../cli/flags.js";
import { type GatewayClient, remoteGateway } from "../../../cli/gateway-client.js";
import { type OpenedConfig, openConfig } from "../../../cli/open-config.js";
import { gatewayOfConfig, runningGateways } from "../../../cli/run-files.js";
import type { Config } from "../../../config/config.js";
import { GatewayError } from "../../../core/errors.js";
import { openLocalSignIns, type SignInOperations } from "../local-sign-ins.js";
import { remoteSignIns } from "./remote-sign-ins.js";

/** The sign-ins, with their gateway and config. */
export interface OpenedDesk {
  readonly desk: SignInOperations;
  /** Absent if only the gateway's URL is known. */
  readonly config?: Config;
  /** The config as it was found, if the command itself connects to its servers. */
  readonly own?: OpenedConfig;
  /** A running gateway that can list. */
  readonly gateway?: GatewayClient;
  close(): Promise<void>;
}

/** Undefined if there is no valid config; the log has the reasons. @throws UsageError */
export async function openDesk(
  flags: ConfigFlags & GatewayFlags,
  shell: CommandContext,
  log: Log,
): Promise<OpenedDesk | undefined> {
  const { url, token, fresh } = gatewayOptions(flags, shell.env);
  log.addSecrets(token === undefined ? [] : [token]);
  if (url !== undefined) {
    const adminUrl = url.replace(/\/+$/, "");
    const known = (await runningGateways(shell.env)).find((each) => each.adminUrl === adminUrl);
    const address = { adminUrl, token: token ?? known?.token };
    return { desk: remoteSignIns(address), gateway: remoteGateway(address), close: async () => {} };
  }
  const opened = await openConfig(shell, log, flags.config);
  if (opened === undefined) return undefined;
  const { config } = opened.loaded;
  const running =
    config.file === undefined || fresh ? undefined : await gatewayOfConfig(shell.env, config.file);
  const address =
    running?.adminUrl === undefined
      ? undefined
      : { adminUrl: running.adminUrl, token: running.token ?? token };
  // Several workers as one gateway accept actions with the token of listen.admin only; they share the vault with this
  // command.
  if (address?.token !== undefined) {
    log.info({ pid: running?.pid }, `asking the gateway that runs with this config (pid ${running?.pid})`);
    return { desk: remoteSignIns(address), gateway: remoteGateway(address), config, close: async () => {} };
  }
  const store = await shell.openStore(config, log);
  const desk = openLocalSignIns({ config, env: shell.env, gatewayUrl: running?.url, logger: log, store });
  const gateway = address === undefined ? {} : { gateway: remoteGateway(address) };
  const close = async (): Promise<void> => {
    await desk.close();
    await store?.close();
  };
  return { desk, config, ...(address === undefined && { own: opened }), ...gateway, close };
}

/** Whether a failure may be temporary. */
export const isTemporary = (error: unknown): boolean =>
  (error instanceof GatewayError && error.code === "upstream_unavailable") ||
  (error instanceof Error && "isTemporary" in error && error.isTemporary === true);
