/** The servers of the npm registry whose results `npm run results:page` reads: pinned, and installed once without install scripts. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import { declarations, node, ownServers } from "./own-servers.mjs";

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "cardea-results");
const PACKAGES = {
  "@cyanheads/git-mcp-server": "2.15.3",
  "mcp-git": "0.0.4",
  "mcp-ripgrep": "0.4.0",
  "@tokenizin/mcp-npx-fetch": "1.0.0",
  "@sylphx/pdf-reader-mcp": "2.4.0",
  "@seed-ship/duckdb-mcp-native": "1.6.2",
  "@wonderwhy-er/desktop-commander": "0.2.52",
  "@playwright/mcp": "0.0.83",
};

/** Installs what is missing. @returns where a file of a package is */
export function installServers() {
  mkdirSync(cache, { recursive: true });
  const list = join(cache, "package.json");
  const wanted = JSON.stringify({ private: true, dependencies: PACKAGES });
  const installed =
    existsSync(join(cache, "node_modules")) && existsSync(list) ? readFileSync(list, "utf8") : "";
  if (installed !== wanted) {
    writeFileSync(list, wanted);
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save"];
    const { status } = spawnSync("npm", ["install", ...flags], { cwd: cache, stdio: ["ignore", 2, 2] });
    if (status !== 0) process.exit(1);
    writeFileSync(list, wanted);
  }
  return (file) => join(cache, "node_modules", file);
}

/** All of them, and the API of the site as a server of kind `openapi`. */
export async function allServers(fixture, site, at) {
  const { folder } = fixture;
  const ripgrep = at(`@vscode/ripgrep-${process.platform}-${process.arch}/bin`);
  const browser = process.env.CARDEA_CHROMIUM ?? (await chromium.executablePath());
  const home = join(folder, "home");
  mkdirSync(home);
  return {
    ...ownServers(fixture, [declarations]),
    git: node(at("@cyanheads/git-mcp-server/dist/index.js"), [], {
      env: { MCP_TRANSPORT_TYPE: "stdio", LOGS_DIR: home },
    }),
    history: node(at("mcp-git/dist/cli.js")),
    grep: node(at("mcp-ripgrep/dist/index.js"), [], { env: { PATH: `${ripgrep}:${process.env.PATH}` } }),
    fetch: node(at("@tokenizin/mcp-npx-fetch/dist/index.js")),
    pdf: node(at("@sylphx/pdf-reader-mcp/dist/index.js")),
    duckdb: node(at("@seed-ship/duckdb-mcp-native/dist/server/mcp-server.js")),
    desktop: node(at("@wonderwhy-er/desktop-commander/dist/index.js"), [], { env: { HOME: home } }),
    browser: node(
      at("@playwright/mcp/cli.js"),
      ["--headless", "--no-sandbox", "--executable-path", browser],
      { cwd: home },
    ),
    api: { type: "openapi", url: `${site.url}/openapi.json` },
  };
}
