/** How much memory another process takes at most while something happens. Linux alone tells. */
import { readFileSync, writeFileSync } from "node:fs";

/** Its resident memory now, and at its highest since it was last reset, in bytes. */
function resident(pid: number): { readonly now: number; readonly highest: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const [, highest = "0"] = /^VmHWM:\s+(\d+) kB/m.exec(status) ?? [];
  const [, now = "0"] = /^VmRSS:\s+(\d+) kB/m.exec(status) ?? [];
  return { now: Number(now) * 1024, highest: Number(highest) * 1024 };
}

/** By how many bytes it grows at most while `act` is under way. */
export async function growth(pid: number, act: () => Promise<void>): Promise<number> {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  const before = resident(pid).now;
  await act();
  return Math.max(0, resident(pid).highest - before);
}
