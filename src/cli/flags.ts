/** Flags that several commands share, and the environment variables that replace them. */
import { type Command, InvalidArgumentError } from "commander";
import type { ListenOverrides } from "../config/read.js";
import { ANONYMOUS } from "../core/client.js";
import { UsageError } from "./exit.js";
import type { Feature } from "./feature.js";
import { type ServeFlagValues, settingFlags } from "./serve-flags.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** The flag for the config file. */
export interface ConfigFlags {
  readonly config?: string;
}

/** The flags of listeners. */
export interface ListenFlags {
  readonly host?: string;
  readonly port?: string;
  readonly insecure?: boolean;
}

/** The flag that makes warnings errors. */
export interface StrictFlag {
  readonly strict?: boolean;
}

/** The flag that ends orphaned processes. */
export interface ReapFlag {
  readonly reap?: boolean;
}

/** The hypothetical caller. */
export interface AsFlags {
  readonly as?: string;
  readonly groups?: string;
  readonly scopes?: string;
}

/** The gateway to use. */
export interface GatewayFlags {
  readonly url?: string;
  readonly token?: string;
  readonly fresh?: boolean;
}

/** The flag that agrees to what a config of the working folder starts. */
export interface YesFlag {
  readonly yes?: boolean;
}

/** The flag for JSON output. */
export interface JsonFlag {
  readonly json?: boolean;
}

/** An empty value is most likely an unset shell variable; treating it as absent would silently use the default. */
function nonEmptyOption(value: string): string {
  if (value === "") throw new InvalidArgumentError("It must not be empty.");
  return value;
}

/** Adds `--config`. */
export function withConfigFlag(command: Command): Command {
  return command.option("--config <file>", "the config file (CARDEA_CONFIG)", nonEmptyOption);
}

/** Adds the flags that choose a gateway. */
export function withGatewayFlags(command: Command): Command {
  return command
    .option("--url <url>", "ask the gateway with this admin listener (CARDEA_URL)", nonEmptyOption)
    .option("--token <token>", "the token of that listener (CARDEA_ADMIN_TOKEN)", nonEmptyOption)
    .option("--fresh", "start the servers, even if a gateway with this config is running (CARDEA_FRESH)");
}

/** Adds the flag that agrees to what a config of the working folder starts. */
export function withYesFlag(command: Command): Command {
  return command.option("--yes", "agree to what a config that came with this folder starts (CARDEA_YES)");
}

/** The gateway to use, from flags or environment. @throws UsageError */
export function gatewayOptions(flags: GatewayFlags, env: Environment) {
  const url = flags.url ?? nonEmpty(env.CARDEA_URL);
  const fresh = flags.fresh ?? booleanVariable(env, "CARDEA_FRESH") ?? false;
  if (url !== undefined && fresh) throw new UsageError("--url asks a running gateway, and --fresh does not");
  if (url !== undefined && (!/^https?:\/\//.test(url) || !URL.canParse(url))) {
    throw new UsageError("--url takes the address of an admin listener, such as http://127.0.0.1:8081");
  }
  return { url, token: flags.token ?? nonEmpty(env.CARDEA_ADMIN_TOKEN), fresh };
}

/** Adds the flag for the state folder, which applies as soon as it is parsed. */
export function withStateFlag(command: Command, useFolder: (folder: string) => void): Command {
  return command.option("--state-dir <folder>", "the state directory (CARDEA_STATE_DIR)", (folder) => {
    useFolder(nonEmptyOption(folder));
    return folder;
  });
}

/** Adds the flags of listeners, and those of features. */
export function withListenFlags(command: Command, features: readonly Feature[]): Command {
  command
    .option("--host <host>", "the address to listen on (CARDEA_HOST)", nonEmptyOption)
    .option("--port <port>", "the port to listen on; 0 picks a free one (CARDEA_PORT)");
  for (const { serveFlags = [] } of features) {
    for (const { flags, description, replaces } of serveFlags)
      if (replaces?.kind === "text") command.option(flags, description, nonEmptyOption);
      else command.option(flags, description);
  }
  return command.option("--insecure", "listen beyond loopback without authentication (CARDEA_INSECURE)");
}

/** Adds the flag that ends orphaned processes. */
export function withReapFlag(command: Command): Command {
  return command.option("--reap", "end server processes that a killed gateway left behind (CARDEA_REAP)");
}

/** Adds the flag that makes warnings errors; `refused` says what they refuse. */
export function withStrictFlag(command: Command, refused: string): Command {
  return command.option("--strict", `${refused} (CARDEA_STRICT)`);
}

/** Adds `--as` and `--groups`. */
export function withAsFlags(command: Command): Command {
  return command
    .option("--as <id>", "the principal who would call (CARDEA_AS); default: anonymous")
    .option("--groups <names>", "its groups, with commas between (CARDEA_GROUPS); default: those of its keys")
    .option("--scopes <names>", "what its token would grant, with commas between (CARDEA_SCOPES)");
}

/** The values of a repeatable flag, otherwise the lines of its variable. */
export const linesOf = (values: readonly string[] | undefined, text: string | undefined): readonly string[] =>
  values ?? (text ?? "").split("\n").filter((line) => line !== "");

/** The hypothetical caller, from flags or environment. */
export function principalFromFlags(flags: AsFlags, env: Environment) {
  const groups = listOf(flags.groups ?? env.CARDEA_GROUPS);
  return {
    as: flags.as ?? nonEmpty(env.CARDEA_AS) ?? "anonymous",
    ...(groups !== undefined && { groups }),
    scopes: listOf(flags.scopes ?? env.CARDEA_SCOPES) ?? [],
  };
}

/** Whether the caller is a host without credentials. */
export const isHost = ({ as, groups = [], scopes }: ReturnType<typeof principalFromFlags>): boolean =>
  as === ANONYMOUS.id && groups.length + scopes.length === 0;

const listOf = (text: string | undefined): readonly string[] | undefined =>
  text?.split(",").flatMap((word) => nonEmpty(word.trim()) ?? []);

/** Adds `--json`. */
export function withJsonFlag(command: Command): Command {
  return command.option("--json", "print JSON (CARDEA_JSON)");
}

/** @throws UsageError if a port is invalid, or a variable means neither yes nor no */
export function listenOverrides(
  flags: ListenFlags & ServeFlagValues,
  env: Environment,
  features: readonly Feature[],
): ListenOverrides {
  const host = flags.host ?? nonEmpty(env.CARDEA_HOST);
  const port = portOf(flags.port, "--port", env, "CARDEA_PORT");
  const sections: Record<string, Record<string, unknown>> = {};
  for (const { section, key, kind, name, variable, given } of settingFlags(features, flags)) {
    const value = kind === "port" ? portOf(given, name, env, variable) : (given ?? nonEmpty(env[variable]));
    if (value !== undefined) sections[section] = { ...sections[section], [key]: value };
  }
  const insecure = flags.insecure ?? booleanVariable(env, "CARDEA_INSECURE");
  return {
    ...(insecure !== undefined && { insecure }),
    ...(host !== undefined && { host }),
    ...(port !== undefined && { port }),
    sections,
  };
}

/** How to treat processes that an earlier gateway left behind. @throws UsageError */
export function orphanPolicyFrom(flags: ReapFlag, env: Environment): "name" | "end" {
  return (flags.reap ?? booleanVariable(env, "CARDEA_REAP") ?? false) ? "end" : "name";
}

/** The text of a flag, or else of its variable: CARDEA_AT for `--at`. `source` names the one that was used. */
export function textFlag(given: string | undefined, name: string, env: Environment) {
  const variable = `CARDEA_${name.toUpperCase()}`;
  return given === undefined
    ? { text: nonEmpty(env[variable]), source: variable }
    : { text: given, source: `--${name}` };
}

/** Whether a flag is given or its variable means yes. @throws UsageError if the variable means neither yes nor no */
export const isFlagSet = (given: boolean | undefined, variable: string, env: Environment): boolean =>
  given ?? booleanVariable(env, variable) ?? false;

/** @throws UsageError if the variable means neither yes nor no */
export function wantsJson(flags: JsonFlag, env: Environment): boolean {
  return flags.json ?? booleanVariable(env, "CARDEA_JSON") ?? false;
}

/** Whether `cardea key` writes into the config. @throws UsageError if the variable means neither yes nor no */
export function wantsAdd(flags: { readonly add?: boolean }, env: Environment): boolean {
  return flags.add ?? booleanVariable(env, "CARDEA_ADD") ?? false;
}

/**
 * Such a flag may open the gateway to every client, so any other word is an error.
 *
 * @throws UsageError if the variable means neither yes nor no
 */
export function booleanVariable(env: Environment, variable: string): boolean | undefined {
  const text = nonEmpty(env[variable])?.toLowerCase();
  if (text === undefined) return undefined;
  if (["1", "true", "yes", "on"].includes(text)) return true;
  if (["0", "false", "no", "off"].includes(text)) return false;
  throw new UsageError(`${variable} must be 1 or 0`);
}

function portOf(
  flag: string | undefined,
  name: string,
  env: Environment,
  variable: string,
): number | undefined {
  if (flag !== undefined) return checkedPort(flag, name);
  const value = nonEmpty(env[variable]);
  // Kubernetes sets a variable of this name in pods if a Service is called "cardea": tcp://10.0.0.1:8080.
  if (value === undefined || value.startsWith("tcp://")) return undefined;
  return checkedPort(value, variable);
}

function checkedPort(text: string, name: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new UsageError(`${name} must be a whole number from 0 to 65535`);
  return port;
}

const nonEmpty = (text: string | undefined): string | undefined => (text === "" ? undefined : text);
