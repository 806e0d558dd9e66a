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

/** `onlyProgram`: what builds and runs the program, without the packages of test/package.json. */
export function installMissing({ onlyProgram = false } = {}) {
  const lock = readFileSync(`${root}package-lock.json`, "utf8");
  const all = `all\n${lock}`;
  const wanted = onlyProgram ? [all, `program\n${lock}`] : [all];
  if (existsSync(stamp) && wanted.includes(readFileSync(stamp, "utf8"))) return;
  // npm warns of the engines of all packages in the lock file, also of those that it does not install.
  const less = onlyProgram ? ["--workspaces=false", "--loglevel=error"] : [];
  // Not `npm ci`: it would delete what is cached below node_modules, such as the Node versions of `npm run test:nodes`.
  run("npm", ["install", "--no-save", "--no-audit", "--no-fund", ...less], {
    shell: process.platform === "win32",
  });
  writeFileSync(stamp, wanted.at(-1));
}
