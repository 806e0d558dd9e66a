/** `cardea install`: adds Cardea to the config file of a host. */
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ConfiguredServer } from "../config/config.js";
import { findConfig, noConfigMessage } from "../config/find.js";
import { writeErrorMessage } from "../config/load.js";
import { isSameServer } from "../config/same-server.js";
import { readErrorMessage } from "../config/text-file.js";
import { plainValue, type Tree } from "../config/tree.js";
import { headersOf } from "./add.js";
import { type CommandContext, type Log, write } from "./command-context.js";
import { EXIT, UsageError } from "./exit.js";
import { booleanVariable, type ConfigFlags, linesOf } from "./flags.js";
import { backUp, closeToOthers, writeHostFile } from "./host-file.js";
import { EditError } from "./host-files/edit.js";
import { tableText } from "./host-files/edit-toml.js";
import { firstPresent, hostPathContext } from "./host-files/host-paths.js";
import {
  type HostEdit,
  hostTree,
  isToml,
  OWN_NAME,
  readHostFile,
  treeIn,
  withEntry,
} from "./host-files/host-text.js";
import { type HostConnection, type KnownHost, knownHost } from "./host-files/known-hosts.js";
import { unknownHost } from "./host-files/unknown-host.js";
import { rememberInstall } from "./install-records.js";
import { undoInstall } from "./install-undo.js";
import { lineDiff } from "./line-diff.js";
import { openConfig } from "./open-config.js";
import { gatewayOfConfig, type RunningGateway, runningGateways } from "./run-files.js";
import { selfCommand } from "./self-command.js";

/** The flags of `cardea install`. */
export interface InstallFlags {
  readonly dryRun?: boolean;
  readonly url?: string;
  readonly header?: readonly string[];
  readonly replace?: boolean;
  readonly undo?: boolean;
}

/** Returns the exit code: 78 if the config, or the host's file, is invalid. */
export async function install(
  id: string,
  flags: InstallFlags & ConfigFlags,
  shell: CommandContext,
): Promise<number> {
  const host = knownHost(id) ?? unknownHost(id);
  const replace = flags.replace ?? booleanVariable(shell.env, "CARDEA_REPLACE") ?? false;
  const dryRun = flags.dryRun ?? booleanVariable(shell.env, "CARDEA_DRY_RUN") ?? false;
  const log = await shell.openLog();
  if (flags.undo ?? booleanVariable(shell.env, "CARDEA_UNDO") ?? false)
    return undoInstall(host, { dryRun }, shell, log);
  const target = await findTarget(host, flags, shell, log);
  if (typeof target === "number") return target;
  const { file, isPresent } = firstPresent(host.files(hostPathContext(shell.env)));
  const text = isPresent ? await readHostFile(file, log) : "";
  if (text === undefined) return EXIT.failed;
  const tree = hostTree(text, file, log);
  if (tree === undefined) return EXIT.config;

  const path = host.serversPath(tree);
  const entry = entryFor(host, target.connection, path);
  const servers = treeIn(tree, path);
  const { twice, others } = namesakes(servers, target.servers);
  const edits: readonly HostEdit[] = [
    { name: OWN_NAME, value: entry },
    ...(replace ? twice.map((name) => ({ name, value: undefined })) : []),
  ];
  const current = servers?.kind === "object" ? servers.members.get(OWN_NAME)?.value : undefined;
  const isSame = current !== undefined && isDeepStrictEqual(plainValue(current), entry);
  const ownerOnly = hasHeaders(target.connection);
  if (isSame && edits.length === 1) {
    if (ownerOnly && !dryRun) await closeOrWarn(file, log);
    await write(shell.stdout, `${host.title} has it already: ${file}\n`);
    return EXIT.done;
  }
  const after = edited(text, { file, path, edits, entry }, log);
  if (after === undefined) return EXIT.config;
  await write(shell.stdout, log.redact(lineDiff(text, after, file)));
  warnOfNamesakes(host, { twice: replace ? [] : twice, others: replace ? others : [] }, file, log);
  if (dryRun) {
    await write(shell.stderr, "nothing was written (--dry-run)\n");
    return EXIT.done;
  }
  const removed = edits.flatMap(({ name, value }) => (value === undefined ? [name] : []));
  const change = { file, isPresent, before: text, after, ownerOnly, entry, removed };
  return replaceFile(host, change, shell, log);
}

async function closeOrWarn(file: string, log: Log): Promise<void> {
  await closeToOthers(file).catch((error: unknown) =>
    log.warn({ file }, `other users can read ${file} and the header in it: ${readErrorMessage(error)}`),
  );
}

interface EditsOfFile {
  readonly file: string;
  /** Where its servers are. */
  readonly path: readonly string[];
  readonly edits: readonly HostEdit[];
  /** For a person, where the file cannot be edited. */
  readonly entry: Readonly<Record<string, unknown>>;
}

/** The text after all edits; undefined, and the log has the reason, if it cannot be edited. */
function edited(text: string, { file, path, edits, entry }: EditsOfFile, log: Log): string | undefined {
  try {
    return edits.reduce(
      (before, edit) => withEntry(before, file, path, edit),
      text.trim() === "" ? "" : text,
    );
  } catch (error) {
    if (!(error instanceof EditError)) throw error;
    const own = isToml(file)
      ? tableText(path[0] ?? "", OWN_NAME, entry)
      : JSON.stringify({ [OWN_NAME]: entry }, null, 2);
    log.error(
      { file },
      `${file} was not changed: ${error.message}; add this under ${path.join(".")} yourself:\n${own}`,
    );
    return undefined;
  }
}

function warnOfNamesakes(
  host: KnownHost,
  { twice, others }: ReturnType<typeof namesakes>,
  file: string,
  log: Log,
): void {
  if (twice.length > 0) {
    log.warn(
      { file },
      `${host.title} also starts ${twice.join(", ")} itself, so their tools would appear twice; --replace removes them from its file`,
    );
  }
  if (others.length > 0) {
    const have = others.length === 1 ? "has a server" : "has servers";
    log.warn(
      { file },
      `${host.title} ${have} called ${others.join(", ")} with another command or URL than the config; ${others.length === 1 ? "it stays" : "they stay"} in its file`,
    );
  }
}

interface ReplacedFile {
  readonly file: string;
  readonly isPresent: boolean;
  readonly before: string;
  readonly after: string;
  /** Whether it has credentials. */
  readonly ownerOnly: boolean;
  readonly entry: Readonly<Record<string, unknown>>;
  /** Servers that are no longer in it. */
  readonly removed: readonly string[];
}

/** Writes the file, with a copy of the one before. Returns the exit code. */
async function replaceFile(
  host: KnownHost,
  { file, isPresent, entry, removed, ...change }: ReplacedFile,
  shell: CommandContext,
  log: Log,
): Promise<number> {
  try {
    const backup = isPresent ? await backUp(file) : undefined;
    // It may keep the existing headers.
    if (backup !== undefined && change.ownerOnly) await closeToOthers(backup);
    await writeHostFile(file, change, isPresent);
    const kept = backup === undefined ? "" : ` (as it was before: ${backup})`;
    const { before, after } = change;
    await rememberInstall(shell.env, host.id, { file, backup, before, after, entry, removed }).catch(
      (error: unknown) =>
        log.warn({ file }, `--undo will not know of this change: ${writeErrorMessage(error)}`),
    );
    await write(
      shell.stdout,
      `wrote ${file}${kept}\nRestart ${host.title} to see it; cardea install ${host.id} --undo takes it back.\n`,
    );
    return EXIT.done;
  } catch (error) {
    if (error instanceof EditError) log.error({ file }, `${file} was not changed: ${error.message}`);
    else log.error({ file }, `${file} cannot be written: ${writeErrorMessage(error)}`);
    return EXIT.failed;
  }
}

/** Headers are usually credentials. */
const hasHeaders = (connection: HostConnection): boolean =>
  connection.kind === "http" && Object.keys(connection.headers).length > 0;

/** The gateway to use without a config: the only running one, if it has a config. */
async function onlyGateway({ env }: CommandContext): Promise<RunningGateway | undefined> {
  const [only, ...others] = await runningGateways(env);
  return others.length === 0 && only?.config !== undefined ? only : undefined;
}

/** What the host connects to, and the servers behind it. */
interface Target {
  readonly connection: HostConnection;
  readonly servers: readonly ConfiguredServer[];
}

/**
 * The URL of the flag, otherwise the running gateway, otherwise the config over stdio. Or the exit code.
 *
 * @throws UsageError
 */
async function findTarget(
  host: KnownHost,
  flags: InstallFlags & ConfigFlags,
  shell: CommandContext,
  log: Log,
): Promise<Target | number> {
  const { config } = flags;
  const url = flags.url ?? (shell.env.CARDEA_INSTALL_URL || undefined);
  const header = linesOf(flags.header, shell.env.CARDEA_HEADER);
  const headers = Object.fromEntries(headersOf(header));
  log.addSecrets(Object.values(headers));
  if (url !== undefined) {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
      throw new UsageError("--url takes an http: or https: URL");
    return { connection: { kind: "http", url, headers }, servers: [] };
  }
  const found = findConfig({ flag: config, env: shell.env, cwd: shell.cwd });
  const path = found && resolve(shell.cwd, found.file);
  const running = await (path === undefined ? onlyGateway(shell) : gatewayOfConfig(shell.env, path));
  if (found === undefined && running === undefined) {
    log.error({}, `${noConfigMessage(shell)}; "cardea init" writes one`);
    return EXIT.config;
  }
  const opened = found && (await openConfig(shell, log, config));
  if (found !== undefined && opened === undefined) return EXIT.config;
  const servers = opened?.loaded.config.servers ?? [];
  if (running !== undefined) {
    log.info({ url: running.url }, `a gateway runs at ${running.url}, and ${host.title} will connect to it`);
    if (opened?.loaded.config.auth !== undefined && header.length === 0) {
      log.warn(
        {},
        `the gateway asks for a key ("cardea key" makes one): --header 'Authorization: Bearer KEY' writes it for ${host.title}`,
      );
    }
    return { connection: { kind: "http", url: running.url, headers }, servers };
  }
  if (header.length > 0) throw new UsageError("--header needs --url, as no gateway runs here");
  const { command, args } = selfCommand();
  warnOfVariables(opened?.loaded.text ?? "", host, log);
  const stdio = [...args, "stdio", "--config", path ?? ""];
  return { connection: { kind: "stdio", command, args: stdio }, servers };
}

/** A host passes on little of its environment, and has less of it than a shell. */
function warnOfVariables(text: string, host: KnownHost, log: Log): void {
  const names = [...text.matchAll(/\$\{(?:env:)?([A-Za-z_]\w*)\}/g)].map(([, name = ""]) => name);
  const needed = [...new Set(names)].filter((name) => name !== "HOME" && name !== "PATH");
  if (needed.length === 0) return;
  log.warn(
    {},
    `the config takes ${needed.join(", ")} from the environment, which ${host.title} may not pass on; if it does not, run "cardea serve" and install again`,
  );
}

function entryFor(host: KnownHost, connection: HostConnection, path: readonly string[]) {
  if (connection.kind === "stdio") return host.stdio(connection, path);
  const entry = host.http(connection, path);
  if (entry !== undefined) return entry;
  // The host only starts commands: `cardea connect` bridges to the gateway.
  const { command, args } = selfCommand();
  // Arguments of a process are visible to all users of the machine, its environment is not.
  const headers = Object.entries(connection.headers).map(([name, value]) => `${name}: ${value}`);
  const env = headers.length === 0 ? undefined : { CARDEA_HEADER: headers.join("\n") };
  const connect = [...args, "connect", connection.url];
  return host.stdio({ kind: "stdio", command, args: connect, ...(env !== undefined && { env }) }, path);
}

/** The servers of the host that have the name of one in the config: the same ones, and others. */
function namesakes(servers: Tree | undefined, configured: readonly ConfiguredServer[]) {
  const twice: string[] = [];
  const others: string[] = [];
  for (const [name, { value }] of servers?.kind === "object" ? servers.members : []) {
    const own = configured.find((server) => server.name === name);
    if (own === undefined || name === OWN_NAME) continue;
    (isSameServer(value, own) ? twice : others).push(name);
  }
  return { twice, others };
}
