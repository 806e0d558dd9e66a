/** The built program, started as a user would start it, and what it says of itself while it runs. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { start } from "./processes.mjs";
import { until } from "./row.mjs";

export const MAIN = fileURLToPath(new URL("../../dist/main.js", import.meta.url));
const PROBE = fileURLToPath(new URL("probe.mjs", import.meta.url));
/**
 * For rows that look for leaks: V8 keeps lists of optimized code, which grow for minutes and do not shrink. Without them
 * the heap of a gateway that leaks nothing stays the same to some ten KiB.
 */
export const NOT_OPTIMIZING = ["--no-opt"];
const READY = /(http:\/\/[^\s"',]+\/mcp)\b.*?(http:\/\/[^\s"',/]+)/;

/**
 * @param {object} config as in the file
 * @param {{ nodeFlags?: string[], flags?: string[], env?: object, probe?: boolean, shell?: string, state?: string }} options
 *   `probe` loads probe.mjs; `shell` is put before the command in a shell, such as `ulimit -n 256`
 */
export async function startGateway(config, options = {}) {
  const { nodeFlags = [], flags = [], env = {}, probe = false, shell, state } = options;
  const folder = mkdtempSync(join(tmpdir(), "cardea-faults-"));
  const file = join(folder, "cardea.json");
  writeFileSync(file, JSON.stringify(config, null, 2));
  const probing = probe ? ["--expose-gc", "--import", PROBE] : [];
  const ports = ["--port", "0", "--admin-port", "0"];
  const args = [...nodeFlags, ...probing, MAIN, "serve", "--config", file, ...ports, ...flags];
  const [command, all] =
    shell === undefined
      ? [process.execPath, args]
      : ["/bin/sh", ["-c", `${shell}; exec "$0" "$@"`, process.execPath, ...args]];
  const begun = performance.now();
  const program = start(command, all, {
    cwd: folder,
    env: { ...process.env, XDG_STATE_HOME: state ?? join(folder, "state"), ...env },
    stdio: ["ignore", "pipe", "pipe", ...(probe ? ["ipc"] : [])],
  });
  const { found } = await until(
    "the ready line",
    () => {
      if (program.exit !== undefined) throw new Error(`the gateway ended and said:\n${program.stderr}`);
      return READY.exec(program.stderr) ?? undefined;
    },
    20_000,
    2,
  );
  const startedMs = performance.now() - begun;
  const [, url, admin] = found;
  let lastJob = 0;
  return {
    url,
    admin,
    file,
    folder,
    program,
    pid: program.pid,
    /** From the start of the process to its ready line. */
    startedMs,
    log: () =>
      program.stderr
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line)),
    configure: (next) => writeFileSync(file, typeof next === "string" ? next : JSON.stringify(next, null, 2)),
    get: (path, limitMs) => get(`${admin}${path}`, limitMs),
    /** The value of one series, or the sum of all whose labels include these; undefined when there is none. */
    async metric(name, labels = {}) {
      const { body } = await get(`${admin}/metrics`);
      const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
      const lines = body
        .split("\n")
        .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      const matching = lines.filter((line) => wanted.every((label) => line.includes(label)));
      if (matching.length === 0) return undefined;
      return matching.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
    },
    /** Resolves when the servers of these names can be reached. */
    async met(...names) {
      for (const name of names) {
        await until(
          `${name} to be met`,
          async () =>
            JSON.parse((await get(`${admin}/api/v1/servers`)).body).find((one) => one.name === name)
              ?.state === "ready",
          20_000,
        );
      }
    },
    /** Asks the probe. */
    ask(job, rest = {}) {
      lastJob += 1;
      const id = lastJob;
      return new Promise((resolve) => {
        const hear = (message) => {
          if (message.id !== id) return;
          program.child.off("message", hear);
          resolve(message);
        };
        program.child.on("message", hear);
        program.child.send({ job, id, ...rest });
      });
    },
    /** The heap after a full collection, in MiB. */
    async heapMiB() {
      return (await this.ask("heap")).heapUsed / 1_048_576;
    },
    /** The same without compiled code: V8 continues compiling for minutes, which would look like a leak. */
    async objectsMiB() {
      const { heapUsed, code } = await this.ask("heap");
      return (heapUsed - code) / 1_048_576;
    },
    async stop() {
      const exit = await program.stop();
      await rm(folder, { recursive: true, force: true });
      return exit;
    },
  };
}

/** One GET on a connection of its own. */
export function get(url, limitMs = 5_000) {
  return new Promise((resolve, reject) => {
    const sent = performance.now();
    const asking = request(url, { agent: false, timeout: limitMs }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text) => {
        body += text;
      });
      response.on("error", reject);
      response.on("end", () =>
        resolve({
          status: response.statusCode,
          headers: response.headers,
          body,
          ms: performance.now() - sent,
        }),
      );
    });
    asking.on("timeout", () => asking.destroy(new Error(`no answer within ${limitMs} ms`)));
    asking.on("error", reject);
    asking.end();
  });
}
