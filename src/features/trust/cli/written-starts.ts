/** How does the text of the config start the servers whose package has an exact version? */
import type { CommandContext } from "../../../cli/command-context.js";
import { sectionsOf } from "../../../cli/feature.js";
import type { Config } from "../../../config/config.js";
import { readTextFile } from "../../../config/text-file.js";
import { type WrittenServer, writtenServers, writtenTree } from "../../../config/written-servers.js";
import { settle } from "../../../core/stop.js";
import { isNonSecretValue } from "../../../telemetry/secrets.js";
import { isObject, stringAt } from "../../../wire/json.js";
import type { CurrentServer } from "../lock/differences.js";
import { isSameStart, type Lock, type ServerLock, type StartLine } from "../lock/lock.js";

/** The start line of a server, without secrets. */
export interface WrittenStart {
  readonly start: StartLine & { readonly version: string };
  /** Whether nothing but the line decides what is run: no URL, no hidden argument, no file of variables. */
  readonly isWhole: boolean;
}

/** By server, of the file as it is now; none of a file that cannot be read. */
export async function writtenStarts(
  { file }: Pick<Config, "file">,
  { features }: Pick<CommandContext, "features">,
): Promise<ReadonlyMap<string, WrittenStart>> {
  const text = file === undefined ? undefined : await settle(readTextFile(file, MAX_CONFIG_BYTES));
  if (file === undefined || text?.ok !== true) return new Map();
  const tree = writtenTree(text.value, file, await sectionsOf(features));
  const found = new Map<string, WrittenStart>();
  for (const [name, server] of tree === undefined ? [] : writtenServers(tree)) {
    const start = await writtenStart(server, features);
    if (start !== undefined) found.set(name, start);
  }
  return found;
}

const MAX_CONFIG_BYTES = 16 * 1024 * 1024;
/** Stands for an argument that may be a secret. */
const HIDDEN = "(not shown)";

async function writtenStart(
  server: WrittenServer,
  features: CommandContext["features"],
): Promise<WrittenStart | undefined> {
  const { args, env, envFile } = server;
  const words = Array.isArray(args) ? args.filter((each) => typeof each === "string") : [];
  for (const feature of features) {
    const pinned = await feature.pinnedPackage?.(stringAt(server, "command") ?? "", words);
    if (pinned === undefined) continue;
    const shown = pinned.args.map((arg) => (mayBeShown(arg, pinned.name) ? arg : HIDDEN));
    const names = isObject(env) ? Object.keys(env).sort() : [];
    return {
      start: {
        ...{ package: pinned.name, version: pinned.version, args: shown },
        ...(names.length > 0 && { env: names }),
      },
      // A package may only forward to a URL, whose server changes what it says by itself.
      isWhole: !shown.some((arg) => arg === HIDDEN || arg.includes("://")) && envFile === undefined,
    };
  }
  return undefined;
}

/** Variables are not expanded, so that their values are not shown. */
const mayBeShown = (arg: string, name: string): boolean =>
  arg.includes("${") || arg.includes(name) || isNonSecretValue(arg.replace(/^--?/, ""));

/** What the server says, with its start line as the config has it. */
export function withWrittenStart(current: CurrentServer, written: WrittenStart | undefined): CurrentServer {
  const { start } = current;
  if (written === undefined || start?.package !== written.start.package) return current;
  return { ...current, start: { ...written.start, ...start } };
}

/** The servers of which the lock has the same package in the same version, started by the same words. */
export function unchangedServers(
  lock: Lock,
  written: ReadonlyMap<string, WrittenStart>,
): ReadonlyMap<string, ServerLock> {
  return new Map(
    [...lock.servers].filter(([name, { start }]) => {
      const now = written.get(name);
      return (
        now?.isWhole === true &&
        start.version === now.start.version &&
        start.args !== undefined &&
        isSameStart(start, now.start) &&
        isSameNames(start.env, now.start.env)
      );
    }),
  );
}

const isSameNames = (a: readonly string[] = [], b: readonly string[] = []): boolean =>
  a.length === b.length && a.every((name, at) => name === b[at]);
