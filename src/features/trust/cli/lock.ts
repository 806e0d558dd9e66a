/** `cardea lock`: writes the definitions of servers into `cardea.lock`, or compares them with it. */
import { type CommandContext, type Log, write } from "../../../cli/command-context.js";
import { EXIT } from "../../../cli/exit.js";
import { type ConfigFlags, isFlagSet, type JsonFlag, wantsJson, type YesFlag } from "../../../cli/flags.js";
import { withGateway } from "../../../cli/with-gateway.js";
import type { Config } from "../../../config/config.js";
import { LIST_KINDS } from "../../../core/lists.js";
import { isSame } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { sortedKeys } from "../lock/definition.js";
import { clauseOf, diffLines } from "../lock/describe-difference.js";
import { type CurrentServer, type Difference, differencesOf } from "../lock/differences.js";
import { EMPTY_LOCK, type Lock, type ServerLock } from "../lock/lock.js";
import { lockPath, readLockFile } from "../lock/lock-file.js";
import { notifyGateway, type TrustedServers, trustedServers, updateLock } from "./trusted-servers.js";
import { unchangedServers, writtenStarts } from "./written-starts.js";

/** The flag that compares only. */
export interface CheckFlags {
  readonly check?: boolean;
}

/** The flag that asks no running gateway. */
export interface FreshFlag {
  readonly fresh?: boolean;
}

/** Prints what differs, and without `--check` writes it. Returns the exit code. */
export async function lock(
  only: string | undefined,
  flags: ConfigFlags & JsonFlag & YesFlag & CheckFlags & FreshFlag,
  shell: CommandContext,
): Promise<number> {
  const json = wantsJson(flags, shell.env);
  const isCheck = isFlagSet(flags.check, "CARDEA_CHECK", shell.env);
  const isFresh = isFlagSet(flags.fresh, "CARDEA_FRESH", shell.env);
  let unchanged: ReadonlyMap<string, ServerLock> = new Map();
  const narrow = async (config: Config): Promise<Config> => {
    if (!isCheck || isFresh) return config;
    unchanged = await unchangedIn(config, shell, only);
    return withoutServers(config, unchanged);
  };
  return withGateway({ flags, shell, startsAll: true, narrow }, async (gateway, log, config) => {
    const { features } = shell;
    const trusted = await trustedServers(gateway, config, { log, only, unchanged, features });
    if (trusted === undefined || config === undefined) return EXIT.failed;
    const compared = compare(trusted, config, only);
    const unstarted = [...unchanged.keys()];
    const text = json ? asJson(trusted, compared, unstarted) : asText(trusted, compared, unstarted);
    await write(shell.stdout, text);
    for (const [server, why] of trusted.unread) log.warn({ server }, `${server} could not be read: ${why}`);
    const differs = trusted.lock === undefined || compared.length > 0;
    if (isCheck && trusted.lock === undefined)
      log.error({}, `there is no ${trusted.file}; "cardea lock" writes it`);
    const failed = trusted.unread.size > 0 ? EXIT.failed : EXIT.done;
    if (isCheck) return differs ? EXIT.found : failed;
    if (!differs && !isLessThanKnown(trusted, only)) return failed;
    return (await approveAll(trusted, only, { config, shell, log })) || failed;
  });
}

/** Servers whose definitions are those of the lock, as they are started from the same version of their package. */
async function unchangedIn(
  config: Config,
  shell: CommandContext,
  only: string | undefined,
): Promise<ReadonlyMap<string, ServerLock>> {
  const state = config.file === undefined ? undefined : await readLockFile(lockPath(config.file));
  if (state?.kind !== "good") return new Map();
  const found = unchangedServers(state.lock, await writtenStarts(config, shell));
  return new Map([...found].filter(([name]) => only === undefined || name === only));
}

/** The config without these servers. */
function withoutServers(config: Config, left: ReadonlyMap<string, ServerLock>): Config {
  if (left.size === 0) return config;
  const profiles = Object.entries(config.profiles).map(([name, profile]) => [
    name,
    { ...profile, servers: profile.servers.filter((server) => !left.has(server)) },
  ]);
  return {
    ...config,
    servers: config.servers.filter(({ name }) => !left.has(name)),
    profiles: Object.fromEntries(profiles),
  };
}

/** What differs at one server; `isGone`: the config no longer has it. */
interface Compared {
  readonly server: string;
  readonly differences: readonly Difference[];
  readonly isGone: boolean;
  /** Whether the lock has the server. */
  readonly isNew: boolean;
}

function compare(
  { lock: approved = EMPTY_LOCK, current }: TrustedServers,
  config: Config,
  only: string | undefined,
): readonly Compared[] {
  const names = config.servers.map(({ name }) => name);
  const gone = [...approved.servers.keys()].filter((name) => only === undefined && !names.includes(name));
  return [
    ...names.flatMap((server): readonly Compared[] => {
      const now = current.get(server);
      if (now === undefined || (only !== undefined && server !== only)) return [];
      const before = approved.servers.get(server);
      const differences = differencesOf(before ?? nothingOf(now), now);
      if (before !== undefined && differences.length === 0) return [];
      return [{ server, differences, isGone: false, isNew: before === undefined }];
    }),
    ...gone.map((server): Compared => ({ server, differences: [], isGone: true, isNew: false })),
  ];
}

/** A server that the lock does not have: all of its definitions are new, and its start line is no difference. */
export const nothingOf = ({ start = {} }: CurrentServer): ServerLock => ({
  start,
  lists: { tools: [], prompts: [], resources: [], resourceTemplates: [] },
});

/** What `current` is in the lock. What is unknown stays as it was. */
export function lockOf(current: CurrentServer, before: ServerLock | undefined): ServerLock {
  const { start = {}, name, instructions, lists, isMet } = current;
  const version =
    start.version ?? (start.package === before?.start.package ? before?.start.version : undefined);
  return {
    start: version === undefined ? start : { ...start, version },
    name: isMet ? name : before?.name,
    instructions: isMet ? instructions : before?.instructions,
    lists: Object.fromEntries(
      LIST_KINDS.map((kind) => [kind, lists[kind] ?? before?.lists[kind] ?? []]),
    ) as unknown as ServerLock["lists"],
  };
}

/** Whether more of a start line is known than the lock has, which is no difference. */
const isLessThanKnown = ({ lock: approved, current }: TrustedServers, only: string | undefined): boolean =>
  [...current].some(([name, now]) => {
    const before = approved?.servers.get(name);
    if (before === undefined || (only !== undefined && name !== only)) return false;
    return !isSame(sortedKeys(lockOf(now, before).start), sortedKeys(before.start));
  });

interface Writing {
  readonly config: Config;
  readonly shell: CommandContext;
  readonly log: Log;
}

async function approveAll(
  { file, current, unread }: TrustedServers,
  only: string | undefined,
  { config, shell, log }: Writing,
): Promise<number> {
  const names = config.servers.map(({ name }) => name);
  const next = ({ servers }: Lock): Lock => ({
    servers: new Map([
      ...[...servers].filter(([name]) => only !== undefined || names.includes(name)),
      ...[...current]
        .filter(([name]) => only === undefined || name === only)
        .map(([name, now]) => [name, lockOf(now, servers.get(name))] as const),
    ]),
  });
  const code = await updateLock(file, next, log);
  if (code !== EXIT.done) return code;
  const written = [...current.keys()].filter((name) => only === undefined || name === only);
  log.info({ file }, `wrote ${file} with ${written.length === 1 ? "1 server" : `${written.length} servers`}`);
  if (unread.size > 0) log.warn({}, "servers that could not be read are in the file as before");
  for (const server of written) await notifyGateway(config, server, "all", { shell, log });
  return EXIT.done;
}

function asJson(
  { file, lock: approved, unread }: TrustedServers,
  compared: readonly Compared[],
  notStarted: readonly string[],
): string {
  const servers = compared.map(({ server, differences, isGone, isNew }) => ({
    server,
    state: isGone ? "removed" : isNew ? "new" : "changed",
    differences: differences.map((each) => ({ ...each, text: clauseOf(each) })),
  }));
  const same = approved !== undefined && compared.length === 0;
  return `${writeJson({ file, same, servers, unread: Object.fromEntries(unread), notStarted }, 2)}\n`;
}

/** Definitions of a new server are counted; the file shows them. */
function asText(
  { file, lock: approved }: TrustedServers,
  compared: readonly Compared[],
  notStarted: readonly string[],
): string {
  const note =
    notStarted.length === 0
      ? ""
      : `not started, as package, version and arguments are those of the file (--fresh starts them): ${notStarted.join(", ")}\n`;
  if (compared.length === 0) return approved === undefined ? "" : `nothing differs from ${file}\n${note}`;
  const blocks = compared.map(({ server, differences, isGone, isNew }) => {
    if (isGone) return `${server}: no longer in the config`;
    if (isNew) return `${server}: new, with ${countsOf(differences)}`;
    return [`${server}:`, ...differences.flatMap(diffLines).map((line) => `  ${line}`)].join("\n");
  });
  return `${blocks.join("\n\n")}\n${note}`;
}

function countsOf(differences: readonly Difference[]): string {
  const words = { tools: "tool", prompts: "prompt", resources: "resource", resourceTemplates: "template" };
  const counts = LIST_KINDS.map((kind) => {
    const count = differences.filter((each) => each.kind === kind).length;
    return count === 0 ? undefined : `${count} ${words[kind]}${count === 1 ? "" : "s"}`;
  }).filter((text) => text !== undefined);
  return counts.length === 0 ? "no definitions" : counts.join(", ");
}
