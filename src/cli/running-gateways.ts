/** Which gateways of this user run on this machine? Each writes a file into the state folder while it runs. */
import { readdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** A gateway that serves over HTTP. */
export interface RunningGateway {
  /** Its endpoint for hosts. */
  readonly url: string;
  readonly adminUrl?: string;
  readonly pid: number;
  /** The absolute path of its config. */
  readonly config?: string;
}

/** Those whose process is alive; files that cannot be read are passed over. */
export async function runningGateways(
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly RunningGateway[]> {
  const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local", "state");
  const folder = join(state, "cardea", "run");
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    names.filter((name) => name.endsWith(".json")).map((name) => readGateway(join(folder, name))),
  );
  return found.filter(
    (gateway) => gateway !== undefined && isAlive(gateway.pid),
  ) as readonly RunningGateway[];
}

async function readGateway(file: string): Promise<RunningGateway | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return isGateway(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isGateway(value: unknown): value is RunningGateway {
  if (typeof value !== "object" || value === null) return false;
  const { url, pid, config } = value as Record<string, unknown>;
  const hasConfig = config === undefined || typeof config === "string";
  return typeof url === "string" && URL.canParse(url) && Number.isSafeInteger(pid) && hasConfig;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
