/** The packages of the servers, installed below one folder without install scripts, and the configs that start them by `npx`. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SERVERS } from "./servers.mjs";

/** The names of the servers that have an older version. */
export const UPGRADED = Object.keys(SERVERS).filter((name) => SERVERS[name].older !== undefined);

/** Installs what is missing: the versions, and the older ones in a folder of their own. */
export function installServers(folder) {
  const versions = Object.values(SERVERS).map((server) => [server.package, server.version]);
  install(folder, join(folder, "latest"), Object.fromEntries(versions));
  const older = UPGRADED.map((name) => [SERVERS[name].package, SERVERS[name].older]);
  install(folder, join(folder, "older"), Object.fromEntries(older));
}

function install(folder, place, dependencies) {
  mkdirSync(place, { recursive: true });
  const wanted = JSON.stringify({ private: true, dependencies });
  const stamp = join(place, ".installed");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  writeFileSync(join(place, "package.json"), wanted);
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps", "--loglevel=error"];
  const cache = ["--cache", join(folder, "npm")];
  const { status } = spawnSync("npm", ["install", ...flags, ...cache], {
    cwd: place,
    stdio: ["ignore", 2, 2],
  });
  if (status !== 0) process.exit(1);
  writeFileSync(stamp, wanted);
}

/** The entry of a server in its version, or in the older one. */
export function entryOf(name, folder, isOlder = false) {
  const { package: own, version, older, args = [], env = {} } = SERVERS[name];
  return {
    command: "npx",
    args: ["-y", `${own}@${isOlder ? older : version}`, ...args],
    // `npx` runs what is installed there, and asks no registry.
    cwd: join(folder, isOlder ? "older" : "latest"),
    env: { ...env, HOME: join(folder, "home"), npm_config_offline: "true" },
    connectTimeout: "5m",
  };
}

/** Writes the config with all servers, those in `older` in the older version. @returns its path */
export function writeConfig(folder, older = []) {
  mkdirSync(join(folder, "home"), { recursive: true });
  const names = Object.keys(SERVERS);
  const servers = names.map((name) => [name, entryOf(name, folder, older.includes(name))]);
  const config = join(folder, "cardea.json");
  const content = { packages: { minAge: "0s" }, mcpServers: Object.fromEntries(servers) };
  writeFileSync(config, `${JSON.stringify(content, null, 2)}\n`);
  return config;
}
