/**
 * `npm run pack:check`: packs the program, installs that package from the registry into an empty folder, and runs it
 * from there by npx. Exits with 1 when any of it fails; run it before a release.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./build.mjs";
import { root } from "./install.mjs";

const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
const server = `${root}node_modules/@modelcontextprotocol/server-memory/dist/index.js`;
const config = { mcpServers: { memory: { command: process.execPath, args: [server] } } };
/** What a host that only starts commands would send. */
const asked = [
  {
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "check", version } },
  },
  { method: "notifications/initialized" },
  { id: 2, method: "ping" },
].map((message) => JSON.stringify({ jsonrpc: "2.0", ...message }));

build();
const home = mkdtempSync(join(tmpdir(), "cardea-pack-check-"));
const npm = (command, args, cwd = home) =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
try {
  const [{ filename, size }] = JSON.parse(
    npm("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", home], root),
  );
  writeFileSync(join(home, "package.json"), "{}");
  writeFileSync(join(home, "cardea.json"), JSON.stringify(config));
  console.error(npm("npm", ["install", join(home, filename), "--omit=dev", "--prefer-offline"]).trim());
  const said = npm("npx", ["cardea", "--version"]).trim();
  if (said !== version) throw new Error(`npx cardea --version says ${said}`);
  const { stdout, status } = spawnSync("npx", ["cardea", "stdio"], {
    cwd: home,
    encoding: "utf8",
    input: `${asked.join("\n")}\n`,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const ids = answers.map(({ id, result }) => result && id).sort();
  if (status !== 0 || ids.join() !== "1,2")
    throw new Error(`npx cardea stdio ended with ${status} and said ${stdout}`);
  console.error(`${filename}: ${size} bytes; installed, and npx cardea works`);
} finally {
  rmSync(home, { recursive: true, force: true });
}
