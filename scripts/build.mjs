/** Builds dist/, the program as it is published, from src/; build/ has each module by itself, for scripts, benchmarks and faults. */
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { installMissing, root, run } from "./install.mjs";

/** What the build was made of; not in dist/, which is published. */
const stamp = `${root}build/.made-of`;
const SOURCES = ["src", "scripts", "package.json", "package-lock.json", "tsconfig.json"];

/** Builds unless nothing has changed since the last build. `onlyProgram`: see `installMissing`. */
export function build({ installed = false, onlyProgram = false } = {}) {
  if (!installed) installMissing({ onlyProgram });
  const sources = digestOfSources();
  const isBuilt = existsSync(`${root}dist/main.js`) && existsSync(stamp);
  if (isBuilt && readFileSync(stamp, "utf8") === sources) return;
  for (const folder of ["build", "dist"]) rmSync(`${root}${folder}`, { recursive: true, force: true });
  run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", "tsconfig.json"]);
  // A process of its own: this file is imported before the packages are installed.
  run(process.execPath, [`${root}scripts/bundle.mjs`]);
  if (existsSync(`${root}src/console`)) {
    run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", "src/console/tsconfig.json"]);
    run(process.execPath, [`${root}scripts/build-console.mjs`]);
  }
  chmodSync(`${root}dist/main.js`, 0o755);
  linkCommand();
  writeFileSync(stamp, sources);
}

/** Of the paths, sizes and times of all files that the build reads. */
function digestOfSources() {
  const hash = createHash("sha256").update(process.version);
  for (const source of SOURCES) {
    const isFolder = statSync(join(root, source)).isDirectory();
    const files = isFolder
      ? readdirSync(join(root, source), { recursive: true, encoding: "utf8" }).sort()
      : [""];
    for (const file of files) {
      const { size, mtimeMs } = statSync(join(root, source, file));
      hash.update(`${source}/${file} ${size} ${mtimeMs}\n`);
    }
  }
  return hash.digest("hex");
}

/** npm links the commands of dependencies only; with this one `npx cardea` works in a clone too. */
function linkCommand() {
  const link = `${root}node_modules/.bin/cardea`;
  for (const file of [link, `${link}.cmd`]) rmSync(file, { force: true });
  if (process.platform === "win32")
    writeFileSync(`${link}.cmd`, '@node "%~dp0\\..\\..\\dist\\main.js" %*\r\n');
  else symlinkSync("../../dist/main.js", link);
}

if (import.meta.url === `file://${process.argv[1]}`)
  build({ installed: process.argv.includes("--installed") });
