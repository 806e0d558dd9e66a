/** Installs what is missing: nothing when node_modules already matches the lock file. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = `${root}node_modules/.cardea-lock`;

/** Runs a program of the project with its output on stderr; ends this process when it fails. */
export function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2], ...options });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

export function installMissing() {
  const lock = readFileSync(`${root}package-lock.json`, "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return;
  // Not `npm ci`: it would delete what is cached below node_modules, such as the Node versions of `npm run test:nodes`.
  run("npm", ["install", "--no-save", "--no-audit", "--no-fund"], { shell: process.platform === "win32" });
  writeFileSync(stamp, lock);
}
