/** What does the gateway that runs with this config know of its servers and its problems? For `doctor`. */
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

/** What it knows. */
export interface RunningFacts {
  /** Answers that did not fit the output schemas of their tools, by server name. */
  readonly misfits: ReadonlyMap<string, readonly Misfit[]>;
  /** Its rows of `/api/v1/problems`; undefined where no gateway runs with the config, or it cannot be asked. */
  readonly problems: readonly JsonObject[] | undefined;
}

const NOTHING: RunningFacts = { misfits: new Map(), problems: undefined };

/** Nothing where no gateway runs with the config, or it cannot be asked. */
export async function runningFacts(
  file: string,
  { env, cwd }: Pick<CommandContext, "env" | "cwd">,
  log: Log,
): Promise<RunningFacts> {
  const running = await gatewayOfConfig(env, resolve(cwd, file));
  if (running?.adminUrl === undefined) return NOTHING;
  const { adminUrl, token } = running;
  const address = { adminUrl, token: token ?? env.CARDEA_ADMIN_TOKEN };
  try {
    const asked = Promise.all([rowsOf(address, "servers"), rowsOf(address, "problems")]);
    const answers = await withTimeout(ANSWER_MS, asked);
    if (answers === undefined) return NOTHING;
    const [servers, problems] = answers;
    const misfits = new Map(servers.map((row) => [stringAt(row, "name") ?? "", misfitsOf(row)]));
    return { misfits, problems };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.info({}, `the gateway that runs with this config cannot be asked about problems: ${error.message}`);
    return NOTHING;
  }
}

const misfitsOf = ({ misfits }: JsonObject): readonly Misfit[] =>
  (Array.isArray(misfits) ? misfits : []).filter(isObject).map((one) => ({
    tool: stringAt(one, "tool") ?? "",
    reason: stringAt(one, "reason") ?? "",
    count: Number(one.count) || 1,
  }));
