/** When processes began, by which a process is told from another that has its number later. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";

/** One process, and no other that ever had its number. */
export interface Life {
  readonly pid: number;
  /** When it began, in words of the system: another process under the same number began at another time. */
  readonly began: string;
}

/**
 * When those of `pids` began that run now; what nobody can tell is left out. Never rejects. Nothing is waited for
 * synchronously, as Linux alone has files to read: elsewhere `ps` is asked, once for all.
 */
export async function livesOf(
  pids: readonly number[],
  platform: NodeJS.Platform = process.platform,
): Promise<ReadonlyMap<number, string>> {
  if (pids.length === 0 || platform === "win32") return new Map();
  const all = [...new Set(pids)];
  return platform === "linux" ? livesOnLinux(all) : livesByPs(all);
}

async function livesOnLinux(pids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  const look = async (pid: number): Promise<void> => {
    const began = await readFile(`/proc/${pid}/stat`, "utf8").then(beganOf, () => undefined);
    if (began !== undefined) found.set(pid, began);
  };
  await Promise.all(pids.map(look));
  return found;
}

function beganOf(stat: string): string | undefined {
  // The name of the program, in parentheses, may contain anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? undefined : fields[19];
}

/** So long (ms) may `ps` take. */
const PS_MS = 5_000;

function livesByPs(pids: readonly number[]): Promise<ReadonlyMap<number, string>> {
  // Two gateways must read the same words, whatever language each was started in.
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
  return new Promise((resolve) => {
    const args = ["-o", "pid=,lstart=", "-p", pids.join(",")];
    // It fails where one of them is gone, and tells of the others all the same.
    execFile("ps", args, { encoding: "utf8", timeout: PS_MS, env }, (_error, said) => {
      const lines = [...said.matchAll(/^ *(\d+) +(\S.*\S) *$/gm)];
      resolve(new Map(lines.map(([, pid, began = ""]) => [Number(pid), began])));
    }).once("error", () => resolve(new Map()));
  });
}
