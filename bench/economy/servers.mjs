/** The 25 servers of the registry that `npm run bench:economy` starts: pinned in `servers.json`, installed once. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { run } from "../../scripts/install.mjs";

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "cardea-bench", "economy");
const LIST = JSON.parse(readFileSync(new URL("servers.json", import.meta.url), "utf8"));

/** Gateways of the registry that are measured beside Cardea, pinned. */
export const PEERS = { "mcp-hub": "4.2.1", "mcp-proxy": "6.7.19" };

/** The path of a file of an installed package. */
export const installed = (name, file) => join(cache, "node_modules", name, file);

/** Installs servers and peers into the user's cache, unless they are there in these versions. Their scripts do not run. */
export function installServers() {
  const servers = Object.fromEntries(LIST.map((server) => [server.package, server.version]));
  const wanted = JSON.stringify({ private: true, dependencies: { ...servers, ...PEERS } }, null, 2);
  const file = join(cache, "package.json");
  const done = join(cache, "installed");
  if (existsSync(done) && readFileSync(done, "utf8") === wanted) return;
  mkdirSync(cache, { recursive: true });
  writeFileSync(file, wanted);
  run("npm", ["install", "--no-audit", "--no-fund", "--no-engine-strict", "--ignore-scripts"], {
    cwd: cache,
  });
  writeFileSync(done, wanted);
}

/**
 * `mcpServers` with all of them. They need no credentials and no network to start and to list; values that some of them
 * require are dummies.
 * @param {string} folder an existing folder in which they may write; it is also their HOME
 */
export function mcpServers(folder) {
  const inFolder = (text) => text.replace("${FOLDER}", folder);
  return Object.fromEntries(
    LIST.map(({ name, package: from, file, args = [], env = {} }) => [
      name,
      {
        command: process.execPath,
        args: [installed(from, file), ...args.map(inFolder)],
        env: {
          HOME: folder,
          ...Object.fromEntries(Object.entries(env).map(([key, value]) => [key, inFolder(value)])),
        },
      },
    ]),
  );
}
