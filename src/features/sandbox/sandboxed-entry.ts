/** What `cardea add --sandbox` writes: the folders that the arguments name may be written, and nothing else. */
import { statSync } from "node:fs";
import type { AddedEntry, RefinedEntry } from "../../cli/feature.js";
import { absolutePath } from "../../config/home-folder.js";

/** The entry with a sandbox, if the flag asks for one. */
export async function sandboxed({ entry, flags, cwd }: AddedEntry): Promise<RefinedEntry> {
  if (flags.sandbox !== true) return { entry, notes: [] };
  const { command, args, env } = entry;
  if (typeof command !== "string")
    return { entry, notes: ["--sandbox is for servers with a command; this one is written without"] };
  const words = Array.isArray(args) ? args.filter((each) => typeof each === "string") : [];
  const write = [...new Set(words.filter((word) => isFolder(word, cwd)))];
  // Keys of an API are of no use without it.
  const network = Object.keys(env ?? {}).length > 0;
  const reach = network
    ? "the network, since it has variables of its own"
    : 'no network ("network": true gives it one)';
  const may = write.length === 0 ? "nothing" : write.join(", ");
  return {
    entry: { ...entry, sandbox: { network, write } },
    notes: [`its sandbox lets it write ${may}, and reach ${reach}; "cardea doctor" starts it once`],
  };
}

function isFolder(word: string, cwd: string): boolean {
  // A word alone may be the name of a package, or of a command.
  if (!/^[./~]/.test(word) || word.includes("${")) return false;
  const path = absolutePath(word === "~" ? "~/" : word, cwd);
  return path !== "/" && (statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false);
}
