/** Edits a config file: changes single values, keeps comments and layout, and never leaves a broken file. */
import { randomBytes } from "node:crypto";
import { open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parse } from "../../config/open-file.js";
import { type Path, plainValue } from "../../config/tree.js";
import { editJson } from "./edit-json.js";
import { editYaml } from "./edit-yaml.js";

/** One change of a config. */
export interface ConfigEdit {
  readonly path: Path;
  /** The new value; `undefined` removes the entry. An index equal to the length of its array appends. */
  readonly value: unknown;
}

/** A file that cannot be edited safely; the message says why. */
export class EditError extends Error {
  override readonly name = "EditError";
}

/**
 * The text of a config with the edits applied in order. Comments stay; so does all other text of JSON, while YAML may be
 * indented again.
 *
 * @param file by whose extension the text is parsed
 * @throws EditError if the text is not valid, or an edit would change anything else
 */
export function editConfig(text: string, file: string, edits: readonly ConfigEdit[]): string {
  const bom = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  return edits
    .reduce((before, edit) => applyEdit(before, file, edit), text.slice(bom.length))
    .replace(/^/, bom);
}

/** The new text of a file. */
export interface Replacement {
  /** The text that was edited. */
  readonly before: string;
  readonly after: string;
  /** Whether other users must not be able to read or write the file afterwards. Default: the permissions stay. */
  readonly ownerOnly?: boolean;
}

/**
 * Replaces the file by one with the text `after` in one step; a symbolic link stays one, and owner, group and permissions
 * stay.
 *
 * @throws EditError if the file no longer has the text `before`, or its owner cannot be kept; else the error of the system
 */
export async function replaceFile(
  file: string,
  { before, after, ownerOnly = false }: Replacement,
): Promise<void> {
  const target = await realpath(file);
  const { mode, uid, gid } = await stat(target);
  const draft = join(dirname(target), `.${basename(target)}.${randomBytes(4).toString("hex")}`);
  const handle = await open(draft, "wx", 0o600);
  try {
    await handle.writeFile(after);
    const made = await handle.stat();
    if (made.uid !== uid || made.gid !== gid) {
      await handle.chown(uid, gid).catch((cause: unknown) => {
        throw new EditError(foreignOwner(uid, gid), { cause });
      });
    }
    // After chown, which clears special bits.
    await handle.chmod(mode & (ownerOnly ? 0o700 : 0o7777));
    await handle.close();
    if ((await readFile(target, "utf8")) !== before) throw new EditError(CHANGED_MEANWHILE);
    await rename(draft, target);
  } catch (error) {
    await handle.close();
    await rm(draft, { force: true });
    throw error;
  }
}

const CHANGED_MEANWHILE = "another program changed it in the meantime; run the command again";
const foreignOwner = (uid: number, gid: number): string =>
  `it belongs to user ${uid} and group ${gid}, and this user cannot keep that; run the command as its owner`;

/** Edits the file at `file` in place. @throws EditError, or the error of the system */
export async function editConfigFile(file: string, edits: readonly ConfigEdit[]): Promise<void> {
  const text = await readFile(file, "utf8");
  await replaceFile(file, { before: text, after: editConfig(text, file, edits) });
}

function applyEdit(text: string, file: string, { path, value: given }: ConfigEdit): string {
  // The form after JSON serialization: no -0 and no undefined members.
  const value: unknown = given === undefined ? undefined : JSON.parse(JSON.stringify(given));
  const before = plainOf(text, file);
  const edited = editedText(text, path, value, isYaml(text, file));
  const wanted = withValue(before, path, value);
  if (!isDeepStrictEqual(plainOf(edited, file), wanted)) throw new EditError(NOT_EDITABLE);
  return edited;
}

function editedText(text: string, path: Path, value: unknown, yaml: boolean): string {
  try {
    return yaml ? editYaml(text, path, value) : editJson(text, path, value);
  } catch (error) {
    throw new EditError(error instanceof RangeError ? error.message : NOT_EDITABLE, { cause: error });
  }
}

const NOT_EDITABLE = "it is written in a way that cannot be edited without changing other parts of it";

function plainOf(text: string, file: string): unknown {
  const { tree, faults } = parse(text, file);
  if (tree === undefined || faults.length > 0)
    throw new EditError("it is not valid; cardea check says where");
  return plainValue(tree);
}

/** Decided like in `parse`. */
const isYaml = (text: string, file: string): boolean =>
  /\.ya?ml$/i.test(file) || (!/\.jsonc?$/i.test(file) && !/^\s*[{[/]/.test(text));

/** A copy of `root` with `value` at `path`. */
function withValue(root: unknown, path: Path, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof step === "number") {
    const items: unknown[] = Array.isArray(root) ? [...root] : [];
    if (rest.length === 0 && value === undefined) items.splice(step, 1);
    else items[step] = withValue(items[step], rest, value);
    return items;
  }
  const members = new Map<string, unknown>(
    typeof root === "object" && root !== null ? Object.entries(root) : [],
  );
  if (rest.length === 0 && value === undefined) members.delete(step);
  else members.set(step, withValue(members.get(step), rest, value));
  return Object.fromEntries(members);
}
