/** The servers of a config as its text has them: variables are not expanded, defaults not filled in. */
import { isHostFile, stripHostFile } from "./host-config-file.js";
import { parse } from "./open-file.js";
import { isDisabled } from "./read-servers.js";
import type { Section } from "./section.js";
import { isServerKey } from "./server-keys.js";
import { type ObjectTree, plainValue } from "./tree.js";

/** The members of an entry. */
export type WrittenServer = Readonly<Record<string, unknown>>;

/** The tree of a config, without what is a host's own; undefined for a text that is no config. */
export function writtenTree(
  text: string,
  path: string,
  sections: readonly Section[],
): ObjectTree | undefined {
  const { tree } = parse(text.replace(/^\uFEFF/, ""), path);
  if (tree?.kind !== "object") return undefined;
  return isHostFile(path, tree) ? stripHostFile(tree, sections).tree : tree;
}

/** The entries that are not disabled, by name. */
export function* writtenServers(tree: ObjectTree): Iterable<readonly [name: string, server: WrittenServer]> {
  for (const [key, { value }] of tree.members) {
    if (!isServerKey(key) || value.kind !== "object") continue;
    for (const [name, { value: member }] of value.members) {
      if (member.kind === "object" && !isDisabled(member)) yield [name, plainValue(member) as WrittenServer];
    }
  }
}
