/** Chooses the running gateway for `status`, `tail` and `top`: the one at --url, otherwise the one on this machine. */
import { isAbsolute, join } from "node:path";
import { findConfig } from "../config/find.js";
import { isObject, type JsonObject } from "../wire/json.js";
import type { CommandContext, Log } from "./command-context.js";
import { type ConfigFlags, type GatewayFlags, gatewayOptions } from "./flags.js";
import { type Address, pageOf } from "./gateway-client.js";
import { gatewayOfConfig, type RunningGateway, runningGateways } from "./run-files.js";

/** Undefined if there is none, or an ambiguous choice; the log says what to do. @throws UsageError */
export async function findGateway(
  flags: ConfigFlags & GatewayFlags,
  shell: CommandContext,
  log: Log,
): Promise<Address | undefined> {
  const { url, token } = gatewayOptions(flags, shell.env);
  log.addSecrets(token === undefined ? [] : [token]);
  const running = await runningGateways(shell.env);
  if (url !== undefined) {
    const adminUrl = url.replace(/\/+$/, "");
    return { adminUrl, token: token ?? running.find((each) => each.adminUrl === adminUrl)?.token };
  }
  const found = await chosen(flags.config ?? shell.env.CARDEA_CONFIG, running, shell);
  const [only, second] = found;
  if (only?.adminUrl === undefined) {
    const which =
      flags.config === undefined ? "no gateway runs here" : `no gateway runs with ${flags.config}`;
    log.error({}, `${which}; cardea serve starts one, and --url asks one elsewhere`);
    return undefined;
  }
  if (second !== undefined) {
    const urls = found.map(({ adminUrl, pid }) => `${adminUrl} (pid ${pid})`).join(", ");
    log.error({}, `several gateways run here: ${urls}; choose one with --config or --url`);
    return undefined;
  }
  return { adminUrl: only.adminUrl, token: only.token ?? token };
}

async function chosen(
  config: string | undefined,
  running: readonly RunningGateway[],
  { env, cwd }: CommandContext,
): Promise<readonly RunningGateway[]> {
  const reachable = running.filter(({ adminUrl }) => adminUrl !== undefined);
  if (config === undefined || config === "") {
    if (reachable.length < 2) return reachable;
    // The one that serves the config which other commands would use here.
    const found = findConfig({ env, cwd });
    const own =
      found && (await gatewayOfConfig(env, isAbsolute(found.file) ? found.file : join(cwd, found.file)));
    return own?.adminUrl === undefined ? reachable : [own];
  }
  const file = await gatewayOfConfig(env, isAbsolute(config) ? config : join(cwd, config));
  return file === undefined ? [] : [file];
}

/** A page that is a list. @throws GatewayError */
export async function rowsOf(address: Address, path: string): Promise<readonly JsonObject[]> {
  const page = await pageOf(address, path);
  return Array.isArray(page) ? page.filter(isObject) : [];
}
