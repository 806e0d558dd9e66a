/** Which gateways of this user run on this machine? Each writes a file into the state folder while it runs. */
import { mkdir, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "../core/logger.js";
import { parseJson, writeJson } from "../wire/json-text.js";
import { pidScope, stateFolder } from "./state-folder.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** A gateway that serves over HTTP. */
export interface RunningGateway {
  /** Its endpoint for hosts. */
  readonly url: string;
  readonly adminUrl?: string;
  readonly pid: number;
  /** The absolute path of its config. */
  readonly config?: string;
  /** Lets commands of the same user use the admin listener, and call tools through it. */
  readonly token?: string;
}

interface RunFile extends RunningGateway {
  /** Where the pid is unique; a state folder may be shared by containers. */
  readonly scope: string;
}

/**
 * Writes the file of this gateway, readable by its user alone. Returns what removes it. A folder that cannot be written
 * is logged: commands then start the servers themselves.
 */
export async function writeRunFile(
  env: Environment,
  gateway: RunningGateway,
  log: Logger,
): Promise<() => Promise<void>> {
  const folder = runFolder(env);
  const file = join(folder, `${gateway.pid}-${pidScope()}.json`);
  const entry: RunFile = { ...gateway, scope: pidScope() };
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Atomic: a reader finds a whole file or none.
    await writeFile(`${file}.new`, `${writeJson(entry, 2)}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file);
  } catch (error) {
    log.debug({ error, folder }, "the run file cannot be written: commands will not find this gateway");
  }
  return () => rm(file, { force: true }).catch(() => {});
}

/** The gateways that run. Files of those that were killed are removed; what cannot be read is passed over. */
export async function runningGateways(env: Environment): Promise<readonly RunningGateway[]> {
  const folder = runFolder(env);
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(
    names.filter((name) => name.endsWith(".json")).map((name) => readGateway(join(folder, name))),
  );
  return found.flat();
}

/** The gateway that serves this config file. */
export async function gatewayOfConfig(env: Environment, file: string): Promise<RunningGateway | undefined> {
  const wanted = await realpath(file).catch(() => file);
  for (const gateway of await runningGateways(env)) {
    const served = gateway.config && (await realpath(gateway.config).catch(() => gateway.config));
    if (served === wanted) return gateway;
  }
  return undefined;
}

const runFolder = (env: Environment): string => join(stateFolder(env), "run");

async function readGateway(file: string): Promise<readonly RunningGateway[]> {
  let value: unknown;
  try {
    value = parseJson(await readFile(file, "utf8"));
  } catch {
    return [];
  }
  if (!isGateway(value)) return [];
  const { scope = pidScope(), ...gateway } = value;
  // Whether a process of another container is alive cannot be seen from here.
  if (scope !== pidScope()) return [];
  if (isAlive(gateway.pid)) return [gateway];
  await rm(file, { force: true }).catch(() => {});
  return [];
}

function isGateway(value: unknown): value is RunningGateway & Partial<RunFile> {
  if (typeof value !== "object" || value === null) return false;
  const { url, adminUrl, pid, config, token, scope } = value as Record<string, unknown>;
  const texts = [adminUrl, config, token, scope].every(
    (each) => each === undefined || typeof each === "string",
  );
  return (
    typeof url === "string" && URL.canParse(url) && Number.isSafeInteger(pid) && Number(pid) > 0 && texts
  );
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
