/** Another version of the program: an earlier commit of this repository, built in a folder of its own. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const git = (...args) => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();

/** The newest tag, else the commit before the last change of `src/features/cluster`; undefined where neither is there. */
export function earlierVersion() {
  const [tag] = git("tag", "--sort=-creatordate").split("\n");
  if (tag !== "") return tag;
  const [, before] = git("log", "--format=%h", "-2", "--", "src/features/cluster").split("\n");
  return before;
}

/** Builds `commit`; resolves to its program. `stop` removes the folder. */
export function buildVersion(commit) {
  const folder = mkdtempSync(join(tmpdir(), "cardea-version-"));
  const archive = execFileSync("git", ["archive", commit], { cwd: ROOT, maxBuffer: 2 ** 28 });
  const tree = join(folder, "tree");
  mkdirSync(tree);
  execFileSync("tar", ["-x", "-C", tree], { input: archive });
  symlinkSync(join(ROOT, "node_modules"), join(tree, "node_modules"));
  // Its node_modules are those of this tree: nothing is installed there.
  const args = ["scripts/build.mjs", "--installed"];
  execFileSync(process.execPath, args, { cwd: tree, stdio: "pipe", timeout: 600_000 });
  const stop = async () => rmSync(folder, { recursive: true, force: true });
  return { main: join(tree, "dist/main.js"), stop };
}
