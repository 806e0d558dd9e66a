/** `cardea key --add`, `key list` and `key revoke`: edits the API keys in a config file and preserves its comments. */
import { resolve } from "node:path";
import { closest } from "../config/closest.js";
import { findConfig, noConfigMessage } from "../config/find.js";
import { isHostFile } from "../config/host-config-file.js";
import { readConfigFile } from "../config/load.js";
import { parse } from "../config/open-file.js";
import { formatProblem, SourcePositions } from "../config/problem.js";
import { readErrorMessage } from "../config/text-file.js";
import { plainValue } from "../config/tree.js";
import { isObject, type JsonObject, stringAt } from "../wire/json.js";
import { type CommandContext, type Log, write } from "./command-context.js";
import { EXIT } from "./exit.js";
import { type ConfigFlags, type JsonFlag, wantsJson } from "./flags.js";
import { EditError, editConfig, replaceFile } from "./host-files/edit.js";

/** A config file and its keys as written, variables not expanded. */
interface KeyFile {
  /** The path as given or discovered. */
  readonly file: string;
  readonly text: string;
  readonly auth: JsonObject | undefined;
  readonly keys: readonly JsonObject[];
}

/** Appends `entry` to `auth.keys`. Returns the file, or the exit code of a logged failure. */
export async function addKey(
  entry: JsonObject,
  flags: ConfigFlags,
  shell: CommandContext,
): Promise<string | number> {
  const log = await shell.openLog({ quiet: true });
  const opened = await openKeyFile(flags, shell, log);
  if (typeof opened === "number") return opened;
  const { file, auth, keys } = opened;
  const path = ["auth", "keys", keys.length];
  if (!(await save(opened, [{ path, value: entry }], shell, log))) return EXIT.failed;
  await write(shell.stderr, `Added to auth.keys of ${file} as ${JSON.stringify(entry.id)}. ${RUNNING}\n`);
  const others = keys.filter(({ id }) => id === entry.id);
  if (others.length > 0) await write(shell.stderr, `${secondKeyText(entry, others)}\n`);
  if (auth === undefined) {
    await write(shell.stderr, "It is the first: from now on every host over HTTP needs a key.\n");
  }
  return file;
}

/** A second key of a principal is meant for a rotation; its groups are its own. */
function secondKeyText({ id, groups = [] }: JsonObject, others: readonly JsonObject[]): string {
  const name = JSON.stringify(id);
  const count = others.length + 1;
  const groupsOf = (value: unknown): string =>
    Array.isArray(value) ? value.map(String).toSorted().join(", ") : "";
  const differs = others.some((other) => groupsOf(other.groups) !== groupsOf(groups));
  const warning = differs ? " They have different groups: what the principal may do depends on the key." : "";
  return `${name} has ${count} keys now, and each of them is accepted.${warning} To end the others, remove their lines from auth.keys; "cardea key revoke ${String(id)}" ends all.`;
}

const RUNNING = "A running gateway takes the change over by itself.";

/** Prints the keys of the config without their secrets. Returns the exit code. */
export async function listKeys(flags: ConfigFlags & JsonFlag, shell: CommandContext): Promise<number> {
  const log = await shell.openLog({ quiet: true });
  const opened = await openKeyFile(flags, shell, log);
  if (typeof opened === "number") return opened;
  const rows = opened.keys.map((key) => ({
    id: stringAt(key, "id") ?? "",
    groups: Array.isArray(key.groups) ? key.groups.map(String) : [],
    hash: stringAt(key, "hash") ?? "",
    ...(stringAt(key, "expires") !== undefined && { expires: stringAt(key, "expires") }),
    expired: Date.parse(stringAt(key, "expires") ?? "") <= Date.now(),
  }));
  if (wantsJson(flags, shell.env)) {
    await write(shell.stdout, `${JSON.stringify(rows, null, 2)}\n`);
    return EXIT.done;
  }
  if (rows.length === 0) {
    await write(shell.stderr, `There are no keys in ${opened.file}; cardea key --add --id NAME makes one.\n`);
    return EXIT.done;
  }
  const cells = rows.map(({ id, groups, hash, expires, expired }) => [
    id,
    groups.length === 0 ? "no groups" : groups.join(", "),
    expires === undefined ? "never expires" : `${expired ? "EXPIRED" : "expires"} ${expires}`,
    hash.slice(0, "sha256:".length + 8),
  ]);
  const wide = [0, 1, 2].map((at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  const lines = cells.map((row) => row.map((cell, at) => cell.padEnd(wide[at] ?? 0)).join("  "));
  await write(shell.stdout, lines.map((line) => `${line.trimEnd()}\n`).join(""));
  return EXIT.done;
}

/** Deletes all keys of a principal. Returns the exit code. */
export async function revokeKey(
  id: string,
  flags: ConfigFlags & JsonFlag,
  shell: CommandContext,
): Promise<number> {
  const log = await shell.openLog({ quiet: true });
  const opened = await openKeyFile(flags, shell, log);
  if (typeof opened === "number") return opened;
  const { file, auth, keys } = opened;
  const at = keys.flatMap((key, index) => (key.id === id ? [index] : []));
  if (at.length === 0) {
    const ids = keys.flatMap((key) => stringAt(key, "id") ?? []);
    const near = closest(id, ids);
    const hint = near === undefined ? "cardea key list shows them" : `did you mean ${JSON.stringify(near)}?`;
    log.error({}, `there is no key of ${JSON.stringify(id)} in ${file}; ${hint}`);
    return EXIT.failed;
  }
  // From the last one on, so that the other indexes stay valid.
  const edits = at.toReversed().map((index) => ({ path: ["auth", "keys", index], value: undefined }));
  if (!(await save(opened, edits, shell, log))) return EXIT.failed;
  const revoked = at.length === 1 ? "the key" : `${at.length} keys`;
  if (wantsJson(flags, shell.env)) {
    await write(shell.stdout, `${JSON.stringify({ file, id, revoked: at.length }, null, 2)}\n`);
  } else {
    const isLast = at.length === keys.length && auth?.jwt === undefined && auth?.signIn === undefined;
    const none = isLast ? " No key is left, so no host is let in; cardea key --add --id NAME makes one." : "";
    await write(shell.stderr, `Revoked ${revoked} of ${JSON.stringify(id)} in ${file}. ${RUNNING}${none}\n`);
  }
  return EXIT.done;
}

async function openKeyFile(flags: ConfigFlags, shell: CommandContext, log: Log): Promise<KeyFile | number> {
  const found = findConfig({ flag: flags.config, env: shell.env, cwd: shell.cwd });
  if (found === undefined) {
    log.error({}, noConfigMessage(shell));
    return EXIT.config;
  }
  const { file } = found;
  const content = await readConfigFile(file, shell.cwd);
  if (!("text" in content)) {
    for (const problem of content.problems) log.error({}, formatProblem(problem));
    return EXIT.config;
  }
  const text = content.text.replace(/^\uFEFF/, "");
  const positions = new SourcePositions(file, text);
  const { tree, faults } = parse(text, file);
  const isObjectFile = tree?.kind === "object";
  const problems = [
    ...faults,
    ...(faults.length === 0 && !isObjectFile ? [{ offset: 0, message: "a config is an object" }] : []),
    ...(isObjectFile && isHostFile(file, tree)
      ? [
          {
            offset: 0,
            message: "this is a host's own file, which holds no keys; cardea init makes a config of it",
          },
        ]
      : []),
  ];
  if (problems.length > 0 || tree === undefined) {
    for (const problem of positions.problems(problems)) log.error({}, formatProblem(problem));
    return EXIT.config;
  }
  const config = plainValue(tree);
  const auth = isObject(config) && isObject(config.auth) ? config.auth : undefined;
  const keys: readonly unknown[] = Array.isArray(auth?.keys) ? auth.keys : [];
  return { file, text: content.text, auth, keys: keys.map((key) => (isObject(key) ? key : {})) };
}

async function save(
  { file, text }: KeyFile,
  edits: Parameters<typeof editConfig>[2],
  shell: CommandContext,
  log: Log,
): Promise<boolean> {
  try {
    await replaceFile(resolve(shell.cwd, file), { before: text, after: editConfig(text, file, edits) });
    return true;
  } catch (error) {
    const why = error instanceof EditError ? error.message : readErrorMessage(error);
    log.error({ file }, `${file} is left as it was: ${why}`);
    return false;
  }
}
