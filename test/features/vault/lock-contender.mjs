/**
 * `node lock-contender.mjs FOLDER TIMES`: takes the lock "record" TIMES times, and adds one to a counter file each time in
 * steps that two at once would spoil. Prints `twice` where another living process is inside, too.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { ProcessLocks } from "../../../build/features/vault/process-lock.js";

const [folder = "", times = "1"] = process.argv.slice(2);
const locks = new ProcessLocks(folder);
const inside = join(folder, "inside");
const counter = join(folder, "counter");

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.[0] !== "Z";
  } catch {
    return false;
  }
}

process.stdout.write("ready\n");
for (let at = 0; at < Number(times); at += 1) {
  const lock = await locks.acquire("record");
  const other = existsSync(inside) ? Number(readFileSync(inside, "utf8")) : 0;
  if (other !== 0 && isRunning(other)) process.stdout.write("twice\n");
  writeFileSync(inside, String(process.pid));
  const count = existsSync(counter) ? Number(readFileSync(counter, "utf8")) : 0;
  await turn();
  await turn();
  // A kill leaves the old or the new count.
  writeFileSync(`${counter}.${process.pid}`, String(count + 1));
  renameSync(`${counter}.${process.pid}`, counter);
  process.stdout.write("counted\n");
  rmSync(inside, { force: true });
  await lock.release();
}
