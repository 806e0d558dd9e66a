/** Which processes are in a process group beside its leader? Read from `/proc`, so on Linux only. */
import { readdir, readFile } from "node:fs/promises";

/** The field of `/proc/PID/stat` behind the name of the program that has the process group. */
const GROUP_FIELD = 2;

/** Sends `signal` to them; false if there are none, or they are not known. Never rejects. */
export async function signalMembers(group: number, signal: NodeJS.Signals): Promise<boolean> {
  let isReceived = false;
  for (const pid of await membersOf(group)) {
    try {
      process.kill(pid, signal);
      isReceived = true;
    } catch {
      // It has ended meanwhile.
    }
  }
  return isReceived;
}

async function membersOf(group: number): Promise<readonly number[]> {
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const groups = await Promise.all(pids.map(groupOf));
  return pids.filter((pid, at) => pid !== group && groups[at] === group);
}

/** Undefined for one that has ended. */
async function groupOf(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  const [, , group] = text.slice(text.lastIndexOf(")") + 2).split(" ", GROUP_FIELD + 1);
  return Number(group);
}
