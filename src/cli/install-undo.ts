/** `cardea install HOST --undo`: takes back what was written into the file of the host, and leaves what others wrote since. */
import { rm } from "node:fs/promises";
import { writeErrorMessage } from "../config/load.js";
import { plainValue } from "../config/tree.js";
import { isObject } from "../wire/json.js";
import { type CommandContext, type Log, write } from "./command-context.js";
import { EXIT } from "./exit.js";
import { writeHostFile } from "./host-file.js";
import { EditError } from "./host-files/edit.js";
import {
  type HostEdit,
  hostTree,
  OWN_NAME,
  readHostFile,
  treeIn,
  withEntry,
} from "./host-files/host-text.js";
import type { KnownHost } from "./host-files/known-hosts.js";
import {
  digestOf,
  digestOfEntry,
  forgetInstall,
  type InstallRecord,
  installRecord,
} from "./install-records.js";
import { lineDiff } from "./line-diff.js";

/** Returns the exit code: 1 if there is nothing to undo, or the entry is no longer the one that was written. */
export async function undoInstall(
  host: KnownHost,
  { dryRun }: { readonly dryRun: boolean },
  shell: CommandContext,
  log: Log,
): Promise<number> {
  const record = installRecord(shell.env, host.id);
  if (record === undefined) {
    log.error({}, `nothing to undo: cardea install ${host.id} has written nothing since the last --undo`);
    return EXIT.failed;
  }
  const { file } = record;
  const text = await readHostFile(file, log);
  if (text === undefined) return EXIT.failed;
  const after = await textBefore(host, record, text, log);
  if (after === undefined) return EXIT.failed;
  await write(shell.stdout, log.redact(lineDiff(text, after ?? "", file)));
  if (dryRun) {
    await write(shell.stderr, "nothing was written (--dry-run)\n");
    return EXIT.done;
  }
  try {
    if (after === null) await rm(file);
    else await writeHostFile(file, { before: text, after }, true);
    await forgetInstall(shell.env, host.id);
  } catch (error) {
    const reason = error instanceof EditError ? error.message : writeErrorMessage(error);
    log.error({ file }, `${file} was not changed: ${reason}`);
    return EXIT.failed;
  }
  await write(shell.stdout, `${doneText(record, text, after)}\nRestart ${host.title} to see it.\n`);
  return EXIT.done;
}

function doneText(
  { file, backup, text: written }: InstallRecord,
  text: string,
  after: string | null,
): string {
  if (after === null) return `removed ${file}, which cardea install had created`;
  if (digestOf(text) === written)
    return `${file} is as it was before${backup === undefined ? "" : ` (${backup})`}`;
  return `wrote ${file}: the entry ${JSON.stringify(OWN_NAME)} is as it was before, and what else was changed since stays`;
}

/** What the file becomes: null where it had not existed; undefined, and the log has the reason, if it stays unchanged. */
async function textBefore(
  host: KnownHost,
  { file, backup, text: written, entry, removed }: InstallRecord,
  text: string,
  log: Log,
): Promise<string | null | undefined> {
  const before = backup === undefined ? undefined : await readHostFile(backup, log);
  if (backup !== undefined && before === undefined) return undefined;
  if (digestOf(text) === written) return before ?? null;
  const tree = hostTree(text, file, log);
  const treeBefore = hostTree(before ?? "", file, log);
  if (tree === undefined || treeBefore === undefined) return undefined;
  const path = host.serversPath(tree);
  const valueIn = (whole: typeof tree, name: string): unknown => {
    const found = treeIn(whole, [...path, name]);
    return found === undefined ? undefined : plainValue(found);
  };
  const current = valueIn(tree, OWN_NAME);
  const kept = backup === undefined ? "" : `; ${backup} has the file as it was before`;
  if (current === undefined) {
    log.error({ file }, `nothing to undo: ${file} has no entry ${JSON.stringify(OWN_NAME)}${kept}`);
    return undefined;
  }
  if (digestOfEntry(current) !== entry) {
    log.error(
      { file },
      `${file} was not changed: its entry ${JSON.stringify(OWN_NAME)} is not the one that cardea install wrote; take it out yourself${kept}`,
    );
    return undefined;
  }
  // A server that is there again was added since.
  const gone = removed.filter((name) => valueIn(tree, name) === undefined);
  const edits = [OWN_NAME, ...gone].map((name): HostEdit => {
    const value = valueIn(treeBefore, name);
    return { name, value: isObject(value) ? value : undefined };
  });
  try {
    return edits.reduce((edited, edit) => withEntry(edited, file, path, edit), text);
  } catch (error) {
    if (!(error instanceof EditError)) throw error;
    log.error({ file }, `${file} was not changed: ${error.message}${kept}`);
    return undefined;
  }
}
