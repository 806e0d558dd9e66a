/** Starts the programs of the benchmark, each on its core, and reads what they cost. */
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const pinning = cpus().length > 1 && spawnSync("taskset", ["-c", "0", "true"]).status === 0;
export const pinned = pinning ? "gateway on core 0, the rest on core 1" : "not pinned";

/** The command line that runs `command` on `core`; "any" leaves the choice to the kernel. */
export const onCore = (core, command) =>
  pinning && core !== "any" ? ["taskset", "-c", String(core), ...command] : command;

const started = new Set();

/** Starts `node ARGS` on a core; the child is ended by `stopAll` at the latest. */
export function start(core, args, options = {}) {
  const [command, ...rest] = onCore(core, [process.execPath, ...args]);
  const child = spawn(command, rest, { stdio: ["pipe", "pipe", "pipe"], cwd: here, ...options });
  child.lastWords = "";
  child.stderr?.on("data", (chunk) => {
    child.lastWords = (child.lastWords + chunk).slice(-4000);
  });
  child.stdin?.on("error", () => {});
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

/** A process that was asked to stop by a person stops what it started first. */
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => stopAll().finally(() => process.exit(130)));
}

/** Processor time that these processes have taken so far, in milliseconds. */
export function cpuMs(pids) {
  let sum = 0;
  for (const pid of pids) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      // Nanoseconds, where /proc/PID/stat counts ticks of 10 ms.
      sum += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]) / 1e6;
    }
  }
  return sum;
}

/** Resident memory of these processes, in MiB. */
export function rssMiB(pids) {
  const of = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
  return pids.reduce((sum, pid) => sum + of(pid), 0);
}

/** Processor time used so far by everything except this benchmark, including steal time of the hypervisor, in ms. */
export function othersMs() {
  const line = readFileSync("/proc/stat", "utf8").split("\n")[0];
  const [, user, nice, system, , , irq, softirq, steal] = line.split(/\s+/).map(Number);
  return (user + nice + system + irq + softirq + steal) * 10 - familyMs();
}

/** Processor time of this process and of everything below it, in milliseconds. */
function familyMs() {
  const processes = new Map();
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ");
      // Its own time, and that of children that have ended.
      const ms = (Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14])) * 10;
      processes.set(Number(pid), { parent: Number(fields[1]), ms });
    } catch {
      // It has ended meanwhile.
    }
  }
  const belongs = (pid) => {
    for (let at = pid; at > 1; at = processes.get(at)?.parent ?? 0) if (at === process.pid) return true;
    return false;
  };
  return [...processes].reduce((sum, [pid, { ms }]) => (belongs(pid) ? sum + ms : sum), 0);
}

/**
 * Starts the load generator on core 1 against `target`, and resolves when it is warm. To what it measures in a round
 * come `cpuUs` (the target's processor time per call), `rss` (the target's memory at the end, in MiB) and `othersShare`
 * (what others took of one core). Between rounds its sessions stay open.
 */
export async function openLoad(target, job) {
  const described = JSON.stringify({ url: target.url, key: target.key, ...job });
  const child = start(job.core ?? 1, ["load.mjs", described]);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`the load generator ended without a result: ${child.lastWords}`);
    return value;
  };
  await next();
  return {
    async round() {
      const others = othersMs();
      const before = cpuMs(target.pids);
      child.stdin.write("go\n");
      const result = JSON.parse(await next());
      const cpu = cpuMs(target.pids) - before;
      const rss = rssMiB(target.pids);
      const othersShare = Math.max(0, othersMs() - others) / (result.seconds * 1000);
      return { ...result, cpuUs: (cpu * 1000) / Math.max(1, result.calls), rss, othersShare };
    },
    async close() {
      if (child.exitCode !== null) return;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await ended;
    },
  };
}

/** Opens idle event streams at `target`; resolves to `{ ms, close }` when all are open. */
export async function openStreams(target, job) {
  const child = start(1, ["streams.mjs", JSON.stringify({ url: target.url, key: target.key, ...job })]);
  const [line] = await printed(child, "stdout", /^\{.*\}$/, 120_000);
  return {
    ...JSON.parse(line),
    async close() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await gone;
    },
  };
}
