/** `cardea lock`: writes the definitions of servers into `cardea.lock`, or compares them with it. */
import { type CommandContext, type Log, write } from "../../../cli/command-context.js";
import { EXIT } from "../../../cli/exit.js";
import { type ConfigFlags, isFlagSet, type JsonFlag, wantsJson, type YesFlag } from "../../../cli/flags.js";
import { withGateway } from "../../../cli/with-gateway.js";
import type { Config } from "../../../config/config.js";
import { LIST_KINDS } from "../../../core/lists.js";
import { writeJson } from "../../../wire/json-text.js";
import { clauseOf, diffLines } from "../lock/describe-difference.js";
import { type CurrentServer, type Difference, differencesOf } from "../lock/differences.js";
import { EMPTY_LOCK, type Lock, type ServerLock } from "../lock/lock.js";
import { notifyGateway, type TrustedServers, trustedServers, updateLock } from "./trusted-servers.js";

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
  return withGateway({ flags, shell, startsAll: true }, async (gateway, log, config) => {
    const trusted = await trustedServers(gateway, config, { log, only });
    if (trusted === undefined || config === undefined) return EXIT.failed;
    const compared = compare(trusted, config, only);
    await write(shell.stdout, json ? asJson(trusted, compared) : asText(trusted, compared));
    for (const [server, why] of trusted.unread) log.warn({ server }, `${server} could not be read: ${why}`);
    const differs = trusted.lock === undefined || compared.length > 0;
    if (isCheck && trusted.lock === undefined)
      log.error({}, `there is no ${trusted.file}; "cardea lock" writes it`);
    const failed = trusted.unread.size > 0 ? EXIT.failed : EXIT.done;
    if (isCheck) return differs ? EXIT.found : failed;
    if (!differs) return failed;
    return (await approveAll(trusted, only, { config, shell, log })) || failed;
  });
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

function asJson({ file, lock: approved, unread }: TrustedServers, compared: readonly Compared[]): string {
  const servers = compared.map(({ server, differences, isGone, isNew }) => ({
    server,
    state: isGone ? "removed" : isNew ? "new" : "changed",
    differences: differences.map((each) => ({ ...each, text: clauseOf(each) })),
  }));
  const same = approved !== undefined && compared.length === 0;
  return `${writeJson({ file, same, servers, unread: Object.fromEntries(unread) }, 2)}\n`;
}

/** Definitions of a new server are counted; the file shows them. */
function asText({ file, lock: approved }: TrustedServers, compared: readonly Compared[]): string {
  if (compared.length === 0) return approved === undefined ? "" : `nothing differs from ${file}\n`;
  const blocks = compared.map(({ server, differences, isGone, isNew }) => {
    if (isGone) return `${server}: no longer in the config`;
    if (isNew) return `${server}: new, with ${countsOf(differences)}`;
    return [`${server}:`, ...differences.flatMap(diffLines).map((line) => `  ${line}`)].join("\n");
  });
  return `${blocks.join("\n\n")}\n`;
}

function countsOf(differences: readonly Difference[]): string {
  const words = { tools: "tool", prompts: "prompt", resources: "resource", resourceTemplates: "template" };
  const counts = LIST_KINDS.map((kind) => {
    const count = differences.filter((each) => each.kind === kind).length;
    return count === 0 ? undefined : `${count} ${words[kind]}${count === 1 ? "" : "s"}`;
  }).filter((text) => text !== undefined);
  return counts.length === 0 ? "no definitions" : counts.join(", ");
}
