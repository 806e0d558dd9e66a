/** Programs of Debian that the cases need, and how they are started: each ends with the case, by its pid. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { delimiter, join } from "node:path";

const FOLDERS = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
const PACKAGES = {
  "redis-server": "redis-server",
  "redis-sentinel": "redis-sentinel",
  haproxy: "haproxy",
  ip: "iproute2",
};

/** The path of an installed program; undefined where it is missing. */
export const programPath = (name) =>
  FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));

/**
 * The paths of these programs. One that is missing is installed with apt by root.
 * @throws Error that names the packages, where that is not possible
 */
export function programs(...names) {
  const missing = names.filter((name) => programPath(name) === undefined).map((name) => PACKAGES[name]);
  if (missing.length > 0) install(missing);
  return Object.fromEntries(names.map((name) => [name, programPath(name)]));
}

function install(packages) {
  const sentence = `missing Debian packages: apt-get install ${packages.join(" ")}`;
  if (process.getuid?.() !== 0 || programPath("apt-get") === undefined) throw new Error(sentence);
  console.log(`installs ${packages.join(", ")}`);
  // No service of them is started.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const { status, stderr } = spawnSync("apt-get", ["install", "-y", "--no-install-recommends", ...packages], {
    env,
    encoding: "utf8",
    timeout: 180_000,
  });
  if (status !== 0) throw new Error(`${sentence}\n${stderr}`);
}

/** A port that nothing listens on right now. */
export async function freePort(host = "127.0.0.1") {
  const server = createServer();
  await new Promise((resolve, reject) => server.once("error", reject).listen(0, host, resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
