/** Processes of the fault scripts, and what the system knows of any process: memory, descriptors, time, children. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Starts a program and keeps what it writes to stderr. */
export function start(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  const self = { child, pid: child.pid, stderr: "", exit: undefined };
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    self.stderr += text;
  });
  self.exited = new Promise((resolve) => {
    child.once("error", (error) => {
      self.stderr += String(error);
      self.exit = { code: null, signal: null };
      resolve(self.exit);
    });
    child.once("close", (code, signal) => {
      self.exit = { code, signal };
      resolve(self.exit);
    });
  });
  /** Sends `signal` and waits until it is gone; SIGKILL after `limitMs`. */
  self.stop = async (signal = "SIGTERM", limitMs = 15_000) => {
    if (self.exit !== undefined) return self.exit;
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
    await self.exited;
    clearTimeout(timer);
    return self.exit;
  };
  return self;
}

/** Resident memory in MiB. */
export const rssMiB = (pid) => memory(pid, "VmRSS");
/** The most it ever was, since the start or since `forgetPeak`. */
export const peakMiB = (pid) => memory(pid, "VmHWM");

const memory = (pid, key) =>
  Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

export const descriptors = (pid) => readdirSync(`/proc/${pid}/fd`).length;

/** The ports at the other ends of the established connections (IPv4, this machine) of a listener at `port`. */
export const peersOf = (port) =>
  new Set(
    connections().flatMap(({ local, remote, state }) =>
      local === port && state === ESTABLISHED ? [remote] : [],
    ),
  );

/** The bytes that have arrived at this end of a connection and were not read. */
export const unreadAt = (port) => connections().find(({ local }) => local === port)?.unread ?? 0;

const ESTABLISHED = "01";
/** All connections over IPv4, as proc_net_tcp(5) has them. */
function connections() {
  const [, ...rows] = readFileSync("/proc/net/tcp", "utf8").trim().split("\n");
  const after = (text) => Number.parseInt(text.slice(text.indexOf(":") + 1), 16);
  return rows.map((row) => {
    const [, local, remote, state, queues] = row.trim().split(/\s+/);
    return { local: after(local), remote: after(remote), state, unread: after(queues) };
  });
}

/** User and system time so far, in ms. */
export function cpuMs(pid) {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** What stands after the program's name in its stat file: state, parent, group, … */
function statOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

export function everybody() {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const [state, parent] = statOf(name);
      const command = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0").join(" ");
      return [{ pid: Number(name), state, parent: Number(parent), command }];
    } catch {
      // It ended while we were looking.
      return [];
    }
  });
}

/** All processes below `pid`, at whatever depth, with their state. */
export function descendants(pid) {
  const all = everybody();
  const below = (ancestor) => all.flatMap((one) => (one.parent === ancestor ? [one, ...below(one.pid)] : []));
  return below(pid);
}

export const children = (pid) => everybody().filter(({ parent }) => parent === pid);

/** Whether there is such a process, and it is not a zombie. */
export function isAlive(pid) {
  try {
    return statOf(pid)[0] !== "Z";
  } catch {
    return false;
  }
}

/**
 * Watches how much of the machine others use: returns a function that tells their share of all cores since the
 * start, from 0 to 1. Ours is whatever runs below the process that runs all rows, or below this one.
 */
export function watchOthers() {
  const root = process.send === undefined ? process.pid : process.ppid;
  const read = () => ({ all: machineMs(), own: treeMs(root) });
  const before = read();
  return () => {
    const now = read();
    const { busy, total } = { busy: now.all.busy - before.all.busy, total: now.all.total - before.all.total };
    return Math.max(0, (busy - (now.own - before.own)) / Math.max(1, total));
  };
}

function machineMs() {
  const [user, nice, system, idle, wait, irq, softirq, steal] = readFileSync("/proc/stat", "utf8")
    .split("\n")[0]
    .trim()
    .split(/\s+/)
    .slice(1)
    .map((ticks) => Number(ticks) * 10);
  const busy = user + nice + system + irq + softirq + steal;
  return { busy, total: busy + idle + wait };
}

/** Time of `root` and all below it, those included that ended and were waited for. */
function treeMs(root) {
  return [root, ...descendants(root).map(({ pid }) => pid)].reduce((sum, pid) => {
    try {
      const fields = statOf(pid);
      return sum + fields.slice(11, 15).reduce((own, ticks) => own + Number(ticks) * 10, 0);
    } catch {
      return sum;
    }
  }, 0);
}
