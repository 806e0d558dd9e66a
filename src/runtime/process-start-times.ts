/** When did a process start? A pid with its start time names one process, also after the pid was used again. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";

/**
 * The start times of the running processes among `pids`; unknown ones are left out. Never rejects. Linux reads
 * `/proc/PID/stat`; elsewhere one `ps` runs for all.
 */
export async function startTimesOf(
  pids: readonly number[],
  platform: NodeJS.Platform = process.platform,
): Promise<ReadonlyMap<number, string>> {
  if (pids.length === 0 || platform === "win32") return new Map();
  const all = [...new Set(pids)];
  return platform === "linux" ? startTimesOnLinux(all) : startTimesByPs(all);
}

async function startTimesOnLinux(pids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  const readStartTime = async (pid: number): Promise<void> => {
    const began = await readFile(`/proc/${pid}/stat`, "utf8").then(startTimeIn, () => undefined);
    if (began !== undefined) found.set(pid, began);
  };
  await Promise.all(pids.map(readStartTime));
  return found;
}

function startTimeIn(stat: string): string | undefined {
  // The program name, in parentheses, may contain any character.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? undefined : fields[19];
}

/** The timeout of `ps`, in ms. */
const PS_MS = 5_000;

function startTimesByPs(pids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  // The format must not depend on the locale and time zone of a gateway.
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
  return new Promise((resolve) => {
    const args = ["-o", "pid=,lstart=", "-p", pids.join(",")];
    // `ps` fails when one process is gone, and still prints the others.
    execFile("ps", args, { encoding: "utf8", timeout: PS_MS, env }, (_error, stdout) => {
      const lines = [...stdout.matchAll(/^ *(\d+) +(\S.*\S) *$/gm)];
      resolve(new Map(lines.map(([, pid, began = ""]) => [Number(pid), began])));
    }).once("error", () => resolve(new Map()));
  });
}
