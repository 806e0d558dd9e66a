/** How does a command call the servers of the config? In a gateway of its own that opens no listener. */
import type { Config } from "../config/config.js";
import { GatewayError } from "../core/errors.js";
import { settle, withTimeout } from "../core/stop.js";
import type { Gateway } from "../gateway/gateway.js";
import { isObject, type JsonObject } from "../wire/json.js";
import { parseJson } from "../wire/json-text.js";
import type { CommandContext, Log } from "./command-context.js";
import { EXIT, UsageError } from "./exit.js";
import type { ConfigFlags } from "./flags.js";
import { openConfig } from "./open-config.js";
import { secretsOf } from "./secrets-of.js";

/** The gateway waits this long (ms) for its servers to exit. */
const SHUTDOWN_MS = 5_000;

/**
 * Runs `work` with a gateway, and stops it.
 *
 * @returns the exit code: that of `work`, or the one for a wrong config, a signal or a failed call
 */
export async function withGateway(
  flags: ConfigFlags,
  shell: CommandContext,
  work: (gateway: Gateway, log: Log, config: Config) => Promise<number>,
): Promise<number> {
  const log = await shell.openLog();
  const opened = await openConfig(shell, log, flags.config);
  if (opened === undefined) return EXIT.config;
  const quiet = await shell.openLog({ quiet: true });
  quiet.addSecrets(secretsOf(opened.loaded));
  const gateway = await shell.createGateway(opened.loaded.config, quiet);
  const interrupted = shell.signals.next().then(() => EXIT.failed);
  try {
    return await Promise.race([work(gateway, log, opened.loaded.config), interrupted]);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    log.error({ code: error.code }, error.message);
    return error.code === "upstream_unavailable" ? EXIT.unavailable : EXIT.failed;
  } finally {
    await withTimeout(SHUTDOWN_MS, settle(gateway.stop({ immediate: true })));
  }
}

/**
 * The arguments of a tool, as a person writes them on a command line: one JSON object, or `name=text` and `name:=json`.
 *
 * @throws UsageError when they are neither
 */
export function parseArguments(words: readonly string[]): JsonObject {
  const [first, ...more] = words;
  if (first === undefined) return {};
  if (more.length === 0 && (/^\s*[{[]/.test(first) || !first.includes("="))) return parseObject(first);
  const members = new Map<string, unknown>();
  for (const word of words) {
    const [, name, sign, text = ""] = /^([^=]+?)(:?=)(.*)$/s.exec(word) ?? [];
    if (name === undefined) {
      throw new UsageError(`${JSON.stringify(word)} is no argument; write name=text or name:=json`);
    }
    if (members.has(name)) throw new UsageError(`the argument ${JSON.stringify(name)} is given twice`);
    members.set(name, sign === "=" ? text : parseValue(name, text));
  }
  return Object.fromEntries(members);
}

function parseObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw new UsageError(
      'the arguments are not JSON; write name=text and name:=json, or one word: \'{"name": "value"}\'',
    );
  }
  if (!isObject(value)) throw new UsageError("the arguments must be a JSON object");
  return value;
}

function parseValue(name: string, text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new UsageError(
      `what follows ${name}:= is not JSON; text is written ${name}=text, and quotes need quotes around them: '${name}:="text"'`,
    );
  }
}
