/** Run files: each running gateway of this user writes one into the state folder. */
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { mkdir, open, readdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Logger } from "../core/logger.js";
import { isLoopback } from "../http/loopback.js";
import { startTimesOf } from "../runtime/process-start-times.js";
import { type ProcessLocation, processLocation, stateFolder } from "../state/state-folder.js";
import { parseJson, writeJson } from "../wire/json-text.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** A gateway that serves HTTP. */
export interface RunningGateway {
  /** Its endpoint for hosts, on this machine. */
  readonly url: string;
  /** Always loopback: tokens are sent to it. */
  readonly adminUrl?: string;
  readonly pid: number;
  /** The absolute path of its config. */
  readonly config?: string;
  /** Lets commands of the same user use the admin listener, and call tools through it. */
  readonly token?: string;
}

interface RunFile extends RunningGateway, ProcessLocation {
  /** The start time of the process, to detect a reused pid; absent if the system does not provide it. */
  readonly began?: string;
}

/**
 * Writes the run file of this gateway, readable by its user only. Returns its removal. If the folder cannot be written,
 * that is logged: commands then start the servers themselves.
 */
export async function writeRunFile(
  env: Environment,
  gateway: RunningGateway,
  log: Logger,
): Promise<() => Promise<void>> {
  const folder = runFolder(env);
  const place = processLocation();
  const began = (await startTimesOf([gateway.pid])).get(gateway.pid);
  const { adminUrl } = gateway;
  const entry: RunFile = {
    ...gateway,
    url: connectable(gateway.url),
    ...(adminUrl !== undefined && { adminUrl: connectable(adminUrl) }),
    ...place,
    ...(began !== undefined && { began }),
  };
  const file = join(folder, `${gateway.pid}-${place.scope}.json`);
  const draft = `${file}.${randomBytes(8).toString("hex")}`;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Atomic: a reader finds a complete file or none.
    await writeFile(draft, `${writeJson(entry, 2)}\n`, { mode: 0o600, flag: "wx" });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {});
    log.debug({ error, folder }, "the run file cannot be written: commands will not find this gateway");
  }
  return () => rm(file, { force: true }).catch(() => {});
}

/**
 * The running gateways. Files of killed gateways, or from before a reboot, are deleted; files that cannot be read, or
 * that other users could have written, are ignored.
 */
export async function runningGateways(env: Environment): Promise<readonly RunningGateway[]> {
  const folder = runFolder(env);
  const names = await readdir(folder).catch(() => []);
  const files = names.filter((name) => name.endsWith(".json")).map((name) => join(folder, name));
  const entries = await Promise.all(files.map(async (file) => ({ file, entry: await readRunFile(file) })));
  const here = processLocation();
  const began = await startTimesOf(
    entries.flatMap(({ entry }) => (entry?.scope === here.scope ? [entry.pid] : [])),
  );
  const running = await Promise.all(
    entries.map(async ({ file, entry }) => {
      if (entry === undefined) return [];
      if (hasEnded(entry, here, began)) {
        await rm(file, { force: true }).catch(() => {});
        return [];
      }
      // Processes of another container are invisible from here.
      const isHere = entry.scope === here.scope && began.get(entry.pid) === entry.began;
      return isHere ? onThisMachine(entry) : [];
    }),
  );
  return running.flat();
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

/** Undefined if it is not a run file of this user. Neither links nor pipes are followed. */
async function readRunFile(file: string): Promise<RunFile | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  if (handle === undefined) return undefined;
  try {
    if (!isOwn(await handle.stat())) return undefined;
    const value = parseJson(await handle.readFile("utf8"));
    return isRunFile(value) ? value : undefined;
  } catch {
    return undefined;
  } finally {
    await handle.close();
  }
}

/** Whether only this user can have written the file; Windows has no such permissions. */
const isOwn = (stats: Stats): boolean =>
  stats.isFile() &&
  (process.getuid === undefined || (stats.uid === process.getuid() && (stats.mode & 0o022) === 0));

function isRunFile(value: unknown): value is RunFile {
  if (typeof value !== "object" || value === null) return false;
  const { scope, host, boot, began, url, adminUrl, pid, config, token } = value as Record<string, unknown>;
  return (
    [scope, host, url].every((each) => typeof each === "string") &&
    [boot, began, adminUrl, config, token].every((each) => each === undefined || typeof each === "string") &&
    Number.isSafeInteger(pid) &&
    Number(pid) > 0
  );
}

function hasEnded(
  { scope, host, boot, began, pid }: RunFile,
  here: ProcessLocation,
  startTimes: ReadonlyMap<number, string>,
): boolean {
  if (scope !== here.scope) return host === here.host && boot !== here.boot;
  const started = startTimes.get(pid);
  return !isAlive(pid) || (started !== undefined && started !== began);
}

/** Whether there is such a process of this user. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The admin URL only if it is on loopback, and nothing if hosts connect to another machine. */
function onThisMachine({ url, pid, config, adminUrl, token }: RunningGateway): readonly RunningGateway[] {
  const host = hostOf(url);
  if (host === undefined || !(isLoopback(host) || isOwnAddress(host))) return [];
  const gateway = { url, pid, ...(config !== undefined && { config }) };
  const admin = adminUrl === undefined ? undefined : hostOf(adminUrl);
  if (adminUrl === undefined || admin === undefined || !isLoopback(admin)) return [gateway];
  return [{ ...gateway, adminUrl, ...(token !== undefined && { token }) }];
}

/** The host of a plain http: URL. */
function hostOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, username, password } = new URL(url);
  return protocol === "http:" && username === "" && password === "" ? hostname : undefined;
}

function isOwnAddress(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "");
  return Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === name));
}

/** A listener on all addresses is reachable on loopback. */
const connectable = (url: string): string =>
  url
    .replace(/^(http:\/\/)0\.0\.0\.0(?=[:/])/, "$1127.0.0.1")
    .replace(/^(http:\/\/)\[::\](?=[:/])/, "$1[::1]");
