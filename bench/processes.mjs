/** Starts the programs of the benchmark, each on its core, and reads what they cost. */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const pinning = cpus().length > 1 && spawnSync("taskset", ["-c", "0", "true"]).status === 0;
export const pinned = pinning ? "gateway on core 0, the rest on core 1" : "not pinned";

const started = new Set();

/** Starts `node ARGS` on a core; the child is ended by `stopAll` at the latest. */
export function start(core, args, options = {}) {
  const command = pinning
    ? ["taskset", "-c", String(core), process.execPath, ...args]
    : [process.execPath, ...args];
  const child = spawn(command[0], command.slice(1), {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: here,
    ...options,
  });
  child.lastWords = "";
  child.stderr.on("data", (chunk) => {
    child.lastWords = (child.lastWords + chunk).slice(-4000);
  });
  started.add(child);
  child.once("exit", () => started.delete(child));
  return child;
}

/** Resolves to the first match of `pattern` in what the child prints on `stream`. */
export function printed(child, stream, pattern, ms = 20_000) {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: child[stream] });
    const timer = setTimeout(() => reject(new Error(`nothing like ${pattern}: ${child.lastWords}`)), ms);
    child.once("exit", (code) => reject(new Error(`exited with ${code}: ${child.lastWords}`)));
    lines.on("line", (line) => {
      const match = pattern.exec(line);
      if (match === null) return;
      clearTimeout(timer);
      resolve(match);
    });
  });
}

export async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await gone;
  clearTimeout(timer);
}

export const stopAll = () => Promise.all([...started].map(stop));

/** User and system time of a process so far, in milliseconds. */
export function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Resident memory of a process, in MiB. */
export function rssMiB(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
}

/** Time the machine's cores were busy with anything at all, in milliseconds. */
export function machineMs() {
  const [, user, nice, system, , , irq, softirq] = readFileSync("/proc/stat", "utf8")
    .split("\n")[0]
    .split(/\s+/)
    .map(Number);
  return (user + nice + system + irq + softirq) * 10;
}

/** Runs the load generator on core 1 against `url`; `pid` is whose CPU is counted. */
export async function load(url, pid, job) {
  const child = start(1, ["load.mjs", JSON.stringify({ url, ...job })]);
  const lines = createInterface({ input: child.stdout });
  let before = 0;
  let machine = 0;
  for await (const line of lines) {
    if (line === "warm") {
      before = cpuMs(pid);
      machine = machineMs();
      continue;
    }
    const result = JSON.parse(line);
    const cpu = cpuMs(pid) - before;
    return {
      ...result,
      cpuUs: (cpu * 1000) / Math.max(1, result.calls),
      busyMs: machineMs() - machine,
      rss: rssMiB(pid),
    };
  }
  throw new Error(`the load generator ended without a result: ${child.lastWords}`);
}
