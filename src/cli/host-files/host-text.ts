/** The text of a host's config file: read, as a tree, and with an entry changed. */
import { parse } from "../../config/open-file.js";
import { formatProblem, SourcePositions } from "../../config/problem.js";
import { readErrorMessage, readTextFile } from "../../config/text-file.js";
import type { ObjectTree, Path, Tree } from "../../config/tree.js";
import type { Log } from "../command-context.js";
import { editConfig } from "./edit.js";
import { editToml } from "./edit-toml.js";
import { readToml } from "./read-toml.js";

/** The name of Cardea's entry in every host. */
export const OWN_NAME = "cardea";

/** An entry of the servers in the file; without a value it is removed. */
export interface HostEdit {
  readonly name: string;
  readonly value: Readonly<Record<string, unknown>> | undefined;
}

/** The text with an entry changed. `path`: where the servers are. @throws EditError if it cannot be edited */
export function withEntry(
  text: string,
  file: string,
  path: readonly string[],
  { name, value }: HostEdit,
): string {
  if (isToml(file)) return editToml(text, path[0] ?? "", name, value);
  return editConfig(text === "" ? "{}\n" : text, file, [{ path: [...path, name] as Path, value }]);
}

/** Whether the file is TOML, by its name. */
export const isToml = (file: string): boolean => file.endsWith(".toml");

/** Undefined, and the log has the reason, if it cannot be read. */
export async function readHostFile(file: string, log: Log): Promise<string | undefined> {
  try {
    return await readTextFile(file);
  } catch (error) {
    log.error({ file }, `${file} cannot be read: ${readErrorMessage(error)}`);
    return undefined;
  }
}

/** The file as a tree; `undefined` if it is invalid, which the log says. */
export function hostTree(text: string, file: string, log: Log): ObjectTree | undefined {
  const source = text.replace(/^\uFEFF/, "");
  if (source.trim() === "") return { kind: "object", offset: 0, members: new Map() };
  const { tree, faults } = isToml(file) ? readToml(source) : parse(source, file);
  if (tree?.kind === "object") return tree;
  const found = faults.length > 0 ? faults : [{ offset: 0, message: "a host's config is an object" }];
  for (const problem of new SourcePositions(file, source).problems(found))
    log.error({}, formatProblem(problem));
  return undefined;
}

/** What is at the path; undefined if nothing is. */
export const treeIn = (tree: Tree, path: readonly string[]): Tree | undefined =>
  path.reduce<Tree | undefined>(
    (at, key) => (at?.kind === "object" ? at.members.get(key)?.value : undefined),
    tree,
  );
