/** Builds dist/ from src/. */
import { chmodSync, rmSync } from "node:fs";
import { installMissing, root, run } from "./install.mjs";

export function build() {
  installMissing();
  rmSync(`${root}dist`, { recursive: true, force: true });
  run(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", "tsconfig.json"]);
  chmodSync(`${root}dist/main.js`, 0o755);
}

if (import.meta.url === `file://${process.argv[1]}`) build();
