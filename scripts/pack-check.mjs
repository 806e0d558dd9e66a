/**
 * `npm run pack:check`: packs the program, installs that package into an empty folder, and runs it from there by npx, as
 * the guide for the first ten minutes does: init, add, check, remove, install, stdio. Exits with 1 when any of it fails;
 * run it before a release.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./build.mjs";
import { root } from "./install.mjs";

const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
const server = `${root}node_modules/@modelcontextprotocol/server-memory/dist/index.js`;
const desktop = { mcpServers: { memory: { command: process.execPath, args: [server] } } };
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
// Nothing outside the folder is read or written.
const env = {
  ...process.env,
  HOME: home,
  XDG_CONFIG_HOME: join(home, ".config"),
  XDG_STATE_HOME: join(home, "state"),
};
const npm = (command, args, cwd = home) =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
const cardea = (...args) =>
  execFileSync("npx", ["cardea", ...args], {
    cwd: home,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
const must = (isTrue, what) => {
  if (!isTrue) throw new Error(what);
};
try {
  const [{ filename, size }] = JSON.parse(
    npm("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", home], root),
  );
  writeFileSync(join(home, "package.json"), "{}");
  const desktopFile = join(env.XDG_CONFIG_HOME, "Claude", "claude_desktop_config.json");
  mkdirSync(join(env.XDG_CONFIG_HOME, "Claude"), { recursive: true });
  writeFileSync(desktopFile, JSON.stringify(desktop));
  console.error(npm("npm", ["install", join(home, filename), "--omit=dev", "--prefer-offline"]).trim());
  const said = cardea("--version").trim();
  must(said === version, `npx cardea --version says ${said}`);

  const steps = cardea("init");
  must(steps.includes("npx cardea stdio --config "), `npx cardea init says ${steps}`);
  cardea("add", "more", "--", process.execPath, server);
  must(cardea("check").includes("2 servers"), "npx cardea check does not see both servers");
  cardea("remove", "more");
  const shown = cardea("install", "claude-desktop", "--dry-run");
  must(shown.includes('"cardea"'), `npx cardea install shows ${shown}`);
  cardea("install", "claude-desktop");
  must(existsSync(`${desktopFile}.bak`), "npx cardea install keeps no backup");

  // As the host would start it.
  const { command, args } = JSON.parse(readFileSync(desktopFile, "utf8")).mcpServers.cardea;
  const { stdout, status } = spawnSync(command, args, {
    cwd: tmpdir(),
    env,
    encoding: "utf8",
    input: `${asked.join("\n")}\n`,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const ids = answers.map(({ id, result }) => result && id).sort();
  must(status === 0 && ids.join() === "1,2", `what install wrote ended with ${status} and said ${stdout}`);
  console.error(`${filename}: ${size} bytes; installed, and npx cardea works`);
} finally {
  rmSync(home, { recursive: true, force: true });
}
