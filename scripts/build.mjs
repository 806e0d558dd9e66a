/** Builds dist/ from src/. */
import { chmodSync, cpSync, rmSync } from "node:fs";
import { installMissing, root, run } from "./install.mjs";

export function build({ installed = false } = {}) {
  if (!installed) installMissing();
  rmSync(`${root}dist`, { recursive: true, force: true });
  run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", "tsconfig.json"]);
  // The console page is written by hand; the compiler knows nothing of it.
  cpSync(`${root}src/admin/console`, `${root}dist/admin/console`, { recursive: true });
  chmodSync(`${root}dist/main.js`, 0o755);
}

if (import.meta.url === `file://${process.argv[1]}`)
  build({ installed: process.argv.includes("--installed") });
