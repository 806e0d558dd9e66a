/** Which answers did not fit the output schemas of their tools, by the gateway that runs with this config? For `doctor`. */
import { resolve } from "node:path";
import { GatewayError } from "../core/errors.js";
import { withTimeout } from "../core/stop.js";
import { isObject, type JsonObject, stringAt } from "../wire/json.js";
import type { CommandContext, Log } from "./command-context.js";
import { gatewayOfConfig } from "./run-files.js";
import { rowsOf } from "./running-gateway.js";

/** How long (ms) the running gateway may take to answer. */
const ANSWER_MS = 5_000;

/** A tool whose answers did not fit, since the gateway started; `reason` is of the last one. */
export interface Misfit {
  readonly tool: string;
  readonly reason: string;
  readonly count: number;
}

/** By server name; empty where no gateway runs with the config, or it cannot be asked. */
export async function runningMisfits(
  file: string,
  { env, cwd }: Pick<CommandContext, "env" | "cwd">,
  log: Log,
): Promise<ReadonlyMap<string, readonly Misfit[]>> {
  const running = await gatewayOfConfig(env, resolve(cwd, file));
  if (running?.adminUrl === undefined) return new Map();
  const { adminUrl, token } = running;
  try {
    const asked = rowsOf({ adminUrl, token: token ?? env.CARDEA_ADMIN_TOKEN }, "servers");
    const rows = (await withTimeout(ANSWER_MS, asked)) ?? [];
    return new Map(rows.map((row) => [stringAt(row, "name") ?? "", misfitsOf(row)]));
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.info({}, `the gateway that runs with this config cannot be asked about answers: ${error.message}`);
    return new Map();
  }
}

const misfitsOf = ({ misfits }: JsonObject): readonly Misfit[] =>
  (Array.isArray(misfits) ? misfits : []).filter(isObject).map((one) => ({
    tool: stringAt(one, "tool") ?? "",
    reason: stringAt(one, "reason") ?? "",
    count: Number(one.count) || 1,
  }));
