/** One replica: the built program with a config file of its own, on ports that stay the same when it is started again. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { MAIN } from "../../faults/support/gateway.mjs";
import { start } from "../../faults/support/processes.mjs";
import { until } from "../../faults/support/row.mjs";
import { freePort } from "./debian.mjs";

const PROBE = fileURLToPath(new URL("../../faults/support/probe.mjs", import.meta.url));
const TOKEN = "the-token-of-the-operators-of-these-cases";
/** Of all replicas. */
const STATE_KEY = "the-state-key-of-the-replicas-of-these-cases";

/**
 * @param {object} rest of the config: `mcpServers`, `limits`, `cluster` without `peers`; none without `cluster`
 * @param {{ host?: string, command?: string[], main?: string, probe?: boolean, store?: string }} options `command` stands before
 *   the program's, such as `ip netns exec`; `main`: another version of the program; `probe`: see `faults/support/probe.mjs`
 */
export async function startReplica(rest, options = {}) {
  const { host = "127.0.0.1", command = [], main = MAIN, probe = false } = options;
  const folder = mkdtempSync(join(tmpdir(), "cardea-replica-"));
  const [port, admin, peers] = options.ports ?? [await freePort(), await freePort(), await freePort()];
  const file = join(folder, "cardea.json");
  const { cluster, ...others } = rest;
  const config = {
    listen: {
      http: { host, port, allowedHosts: ["127.0.0.1", host] },
      admin: { host, port: admin, token: TOKEN },
    },
    keys: { state: STATE_KEY },
    ...others,
    ...(cluster !== undefined && { cluster: { peers: { listen: `${host}:${peers}` }, ...cluster } }),
  };
  writeFileSync(file, JSON.stringify(config, null, 2));
  const origin = `http://${host}:${admin}`;
  const self = {
    host,
    port,
    url: `http://${host}:${port}/mcp`,
    /** Of the listener for other replicas. */
    peers: `http://${host}:${peers}`,
    file,
    get pid() {
      return self.program.pid;
    },
  };

  const page = async (path, limitMs = 5_000) => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    return fetch(`${origin}${path}`, { headers, signal: AbortSignal.timeout(limitMs) });
  };

  return Object.assign(self, {
    /** Starts the program; resolves when it says that it is ready. */
    async start(version = main) {
      const probing = probe ? ["--expose-gc", "--import", PROBE] : [];
      const words = [
        ...command,
        process.execPath,
        ...probing,
        version,
        "serve",
        "--config",
        file,
        "--insecure",
      ];
      const env = { ...process.env, XDG_STATE_HOME: join(folder, "state") };
      const stdio = ["ignore", "ignore", "pipe", ...(probe ? ["ipc"] : [])];
      const program = start(words[0], words.slice(1), { cwd: folder, env, stdio });
      self.program = program;
      await until(
        "the ready line",
        () => {
          if (program.exit !== undefined)
            throw new Error(`a replica ended and said:\n${program.stderr.slice(-3000)}`);
          return /ready: http/.test(program.stderr);
        },
        30_000,
      );
    },
    /** SIGTERM; resolves to how it ended and how long that took. */
    async end(limitMs = 60_000) {
      const begun = performance.now();
      const exit = await self.program.stop("SIGTERM", limitMs);
      return { ...exit, ms: performance.now() - begun };
    },
    signal: (name) => self.program.child.kill(name),
    kill: () => self.program.stop("SIGKILL"),
    /** The status of an action of the admin listener. */
    async act(path) {
      const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
      const options = { method: "POST", headers, body: "{}" };
      const response = await fetch(`${origin}${path}`, { ...options, signal: AbortSignal.timeout(5_000) });
      await response.arrayBuffer();
      return response.status;
    },
    /** JSON of a page of the admin listener. */
    json: async (path) => (await page(path)).json(),
    ready: async () => (await page("/readyz").catch(() => ({ status: 0 }))).status,
    /** The sum of the series whose labels include these; undefined where there is none. */
    async metric(name, labels = {}) {
      const text = await (await page("/metrics")).text();
      const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
      const lines = text
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      const matching = lines.filter((line) => wanted.every((label) => line.includes(label)));
      if (matching.length === 0) return undefined;
      return matching.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
    },
    /** Sets the clock that people set; with `probe`. */
    turnClock(ms) {
      self.program.child.send({ job: "clock", id: 0, ms });
    },
    async stop() {
      self.program?.child.kill("SIGCONT");
      await self.program?.stop("SIGTERM", 5_000);
      rmSync(folder, { recursive: true, force: true });
    },
  });
}
