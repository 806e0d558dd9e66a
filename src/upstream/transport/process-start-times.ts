/** When processes began, by which a process is told from another that has its number later. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";

/** One process, and no other that ever had its number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it began, in words of the system: another process under the same number began at another time. */
  readonly began: string;
}

/**
 * When those of `pids` began that run now; what nobody can tell is left out. Never rejects. Nothing is waited for
 * synchronously, as Linux alone has files to read: elsewhere `ps` is asked, once for all.
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
  // The name of the program, in parentheses, may contain anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? undefined : fields[19];
}

/** So long (ms) may `ps` take. */
const PS_MS = 5_000;

function startTimesByPs(pids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  // Two gateways must read the same words, whatever language each was started in.
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
  return new Promise((resolve) => {
    const args = ["-o", "pid=,lstart=", "-p", pids.join(",")];
    // It fails where one of them is gone, and tells of the others all the same.
    execFile("ps", args, { encoding: "utf8", timeout: PS_MS, env }, (_error, stdout) => {
      const lines = [...stdout.matchAll(/^ *(\d+) +(\S.*\S) *$/gm)];
      resolve(new Map(lines.map(([, pid, began = ""]) => [Number(pid), began])));
    }).once("error", () => resolve(new Map()));
  });
}
