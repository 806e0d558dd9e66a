/** Builds dist/, the program as it is published, from src/; build/ has each module by itself, for scripts, benchmarks and faults. */
import { chmodSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { installMissing, root, run } from "./install.mjs";

export function build({ installed = false } = {}) {
  if (!installed) installMissing();
  for (const folder of ["build", "dist"]) rmSync(`${root}${folder}`, { recursive: true, force: true });
  run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", "tsconfig.json"]);
  // A process of its own: this file is imported before the packages are installed.
  run(process.execPath, [`${root}scripts/bundle.mjs`]);
  run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", "src/admin/console/tsconfig.json"]);
  run(process.execPath, [`${root}scripts/build-console.mjs`]);
  chmodSync(`${root}dist/main.js`, 0o755);
  linkCommand();
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
