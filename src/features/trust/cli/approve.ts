/** `cardea approve`: shows in what a server differs from `cardea.lock`, and writes that into the file. */
import { type CommandContext, write } from "../../../cli/command-context.js";
import { EXIT, UsageError } from "../../../cli/exit.js";
import { type ConfigFlags, isFlagSet, type YesFlag } from "../../../cli/flags.js";
import { canPrompt, confirm } from "../../../cli/prompt.js";
import { terminalSafe } from "../../../cli/terminal-safe.js";
import { withGateway } from "../../../cli/with-gateway.js";
import { closest } from "../../../config/closest.js";
import { LIST_KINDS, type ListKind } from "../../../core/lists.js";
import type { JsonObject } from "../../../wire/json.js";
import { nameOf } from "../lock/definition.js";
import { diffLines } from "../lock/describe-difference.js";
import { type CurrentServer, type Difference, differencesOf } from "../lock/differences.js";
import { EMPTY_LOCK, type Lock, type ServerLock } from "../lock/lock.js";
import { findingLines } from "./finding-lines.js";
import { type FreshFlag, lockOf, nothingOf } from "./lock.js";
import { notifyGateway, trustedServers, updateLock } from "./trusted-servers.js";

/** Entries that the running gateway is notified of one by one, for its audit log. */
const MAX_NOTIFIED = 20;

/** Returns the exit code. @throws UsageError without a terminal and `--yes`, and for a name that does not differ */
export async function approve(
  server: string,
  name: string | undefined,
  flags: ConfigFlags & YesFlag & FreshFlag,
  shell: CommandContext,
): Promise<number> {
  return withGateway({ flags, shell, startsAll: true }, async (gateway, log, config) => {
    const trusted = await trustedServers(gateway, config, { log, only: server, features: shell.features });
    if (trusted === undefined || config === undefined) return EXIT.failed;
    const { file, lock = EMPTY_LOCK, current, unread } = trusted;
    const now = current.get(server);
    if (now === undefined) {
      log.error(
        { server },
        `${server} could not be read: ${unread.get(server) ?? "it has listed nothing yet"}`,
      );
      return EXIT.unavailable;
    }
    const approved = lock.servers.get(server);
    const all = differencesOf(approved ?? nothingOf(now), now);
    const chosen = chosenOf(all, server, name);
    if (chosen.length === 0 && approved !== undefined) {
      await write(shell.stdout, `nothing of ${server} differs from ${file}\n`);
      return EXIT.done;
    }
    const lines = chosen.flatMap((each) => diffLines(each)).map((line) => `  ${line}\n`);
    const found = findingLines(chosen, server, current).map((line) => `  ${terminalSafe(line)}\n`);
    await write(shell.stdout, `${server}:\n${lines.join("")}${found.join("")}`);
    if (!isFlagSet(flags.yes, "CARDEA_YES", shell.env)) {
      if (!canPrompt(shell)) throw new UsageError("nothing was written: --yes approves what is shown above");
      if (!(await confirm(`approve this for ${server}?`, shell, "no"))) {
        log.info({}, "nothing was written");
        return EXIT.failed;
      }
    }
    const code = await updateLock(file, withApproved(server, now, chosen), log);
    if (code !== EXIT.done) return code;
    log.info({ file }, `approved in ${file}: ${chosen.length} of ${server}`);
    const named = chosen.length > MAX_NOTIFIED || name === undefined ? ["all"] : chosen.map(subject);
    for (const each of named) await notifyGateway(config, server, each, { shell, log });
    return EXIT.done;
  });
}

const subject = ({ kind, name }: Difference): string => (name === "" ? kind : name);

function chosenOf(
  all: readonly Difference[],
  server: string,
  name: string | undefined,
): readonly Difference[] {
  if (name === undefined) return all;
  const chosen = all.filter((each) => subject(each) === name);
  if (chosen.length > 0 || all.length === 0) return chosen;
  const near = closest(name, all.map(subject));
  const hint =
    near === undefined ? `"cardea lock --check ${server}" shows what does` : `did you mean ${near}?`;
  throw new UsageError(`${name} of ${server} does not differ from cardea.lock; ${hint}`);
}

const isListKind = (kind: string): kind is ListKind => (LIST_KINDS as readonly string[]).includes(kind);

/** The entries of one kind, those of this name as they are now. */
const withEntry = (
  before: ServerLock,
  latest: ServerLock,
  kind: ListKind,
  name: string,
): readonly JsonObject[] => [
  ...before.lists[kind].filter((item) => nameOf(kind, item) !== name),
  ...latest.lists[kind].filter((item) => nameOf(kind, item) === name),
];

/** The lock with what differs as it is now, and all else as it was. */
const withApproved =
  (server: string, now: CurrentServer, chosen: readonly Difference[]) =>
  ({ servers }: Lock): Lock => {
    const before = servers.get(server) ?? nothingOf(now);
    const latest = lockOf(now, before);
    let next: ServerLock = before;
    for (const { kind, name } of chosen) {
      if (!isListKind(kind)) next = { ...next, [kind]: latest[kind] };
      else next = { ...next, lists: { ...next.lists, [kind]: withEntry(next, latest, kind, name) } };
    }
    return { servers: new Map([...servers, [server, next]]) };
  };
