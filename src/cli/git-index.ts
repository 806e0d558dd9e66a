/** Whether a file came with a clone: the index of the git work tree that it stands in has it. */
import { lstatSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";

/** An index of half a million files. */
const MAX_INDEX_BYTES = 134_217_728;
const MAX_LINK_BYTES = 65_536;

/** The folder of the work tree around `folder`, and where git keeps its index; undefined outside of one. */
export function workTreeOf(folder: string): { readonly top: string; readonly index: string } | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const git = join(at, ".git");
    const stats = lstatSync(git, { throwIfNoEntry: false });
    if (stats?.isDirectory() === true) return { top: at, index: join(git, "index") };
    // A linked work tree or a submodule: the file names the folder.
    if (stats?.isFile() === true && stats.size <= MAX_LINK_BYTES) {
      const [, named] = /^gitdir:\s*(.+?)\s*$/m.exec(readFileSync(git, "utf8")) ?? [];
      if (named !== undefined) return { top: at, index: join(resolve(at, named), "index") };
    }
    if (dirname(at) === at) return undefined;
  }
}

/** In doubt yes: an index that is too large, or of a form that is not read. */
export function isTracked(file: string): boolean {
  const tree = workTreeOf(dirname(file));
  if (tree === undefined) return false;
  const stats = statSync(tree.index, { throwIfNoEntry: false });
  if (stats?.isFile() !== true) return false;
  if (stats.size > MAX_INDEX_BYTES) return true;
  const index = readFileSync(tree.index);
  // Version 4 stores only the ends of paths (git, Documentation/gitformat-index).
  if (index.subarray(0, 4).toString("latin1") !== "DIRC" || index.readUInt32BE(4) > 3) return true;
  return hasPath(index, relative(tree.top, file).split(sep).join("/"));
}

/** Each path stands after its flags, which have its length, and ends with NUL. */
function hasPath(index: Buffer, path: string): boolean {
  const bytes = Buffer.from(`${path}\0`);
  const length = Math.min(bytes.length - 1, 0xfff);
  for (let at = index.indexOf(bytes); at !== -1; at = index.indexOf(bytes, at + 1)) {
    const [near, far] = [at - 2, at - 4].map((place) =>
      place < 12 ? -1 : index.readUInt16BE(place) & 0xfff,
    );
    if (near === length || far === length) return true;
  }
  // On a file system that ignores case, the name of the file may be another one there.
  return basename(path).toLowerCase() !== basename(path) && hasPath(index, path.toLowerCase());
}
