/** Which processes run below a process, and how much memory do they take? Read from `/proc`: Linux only. */
import { readdirSync, readFileSync } from "node:fs";

/** The pids of all processes below `pid`, itself not included. A process whose parent has ended is not among them. */
export function descendants(pid) {
  const children = new Map();
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const fields = textOf(entry, "stat").split(") ").at(-1).split(" ");
    // Z: it has ended, and its parent has not read its exit code yet.
    if (fields.length < 2 || fields[0] === "Z") continue;
    const parent = Number(fields[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const below = (at) => (children.get(at) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

/**
 * Memory of these processes in MiB: `rss` is the sum of what is resident of each; in `pss` a page that n processes share
 * counts 1/n for each.
 */
export function memoryMiB(pids) {
  const sum = (file, key) =>
    pids.reduce((mib, pid) => {
      const [, kib = 0] = new RegExp(`^${key}:\\s+(\\d+)`, "m").exec(textOf(pid, file)) ?? [];
      return mib + Number(kib) / 1024;
    }, 0);
  return { rss: sum("status", "VmRSS"), pss: sum("smaps_rollup", "Pss") };
}

/** Empty where the process has ended. */
function textOf(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
