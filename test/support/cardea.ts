/** The built program, started as a user would start it, with a config in a folder of its own. */
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Exit, type Started, type StartOptions, start } from "./processes.js";
import { until } from "./until.js";

/** The built program: `dist/main.js`, or another build that `CARDEA_TEST_MAIN` names. */
export const MAIN =
  process.env.CARDEA_TEST_MAIN ?? fileURLToPath(new URL("../../dist/main.js", import.meta.url));
/** The path of a file in this repository. */
export const inRepository = (path: string): string =>
  fileURLToPath(new URL(`../../${path}`, import.meta.url));

export interface Serving {
  readonly process: Started;
  /** Such as `http://127.0.0.1:41234/mcp`. */
  readonly url: string;
  /** Such as `http://127.0.0.1:41235`; "" in a build without a listener for operators. */
  readonly admin: string;
  /** Ends it with SIGTERM and removes its folder. */
  stop(): Promise<Exit>;
  /** The same at once, where its stop is not the subject. */
  end(): Promise<Exit>;
}

/** A config file without `listen.admin` in a build that has no such section. */
export function inThisBuild(config: object): object {
  if (HAS_ADMIN || !("listen" in config)) return config;
  const { admin: _, ...listen } = config.listen as { readonly admin?: object };
  return { ...config, listen };
}

/** A config file in a new temporary folder. */
export function writeConfig(config: object): { readonly file: string; readonly remove: () => Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), "cardea-"));
  const file = join(folder, "cardea.json");
  writeFileSync(file, JSON.stringify(inThisBuild(config), null, 2));
  return { file, remove: () => rm(folder, { recursive: true, force: true }) };
}

const HAS_ADMIN = existsSync(inRepository("src/features/admin"));
const PORTS = ["--port", "0", ...(HAS_ADMIN ? ["--admin-port", "0"] : [])];
/** The ready line: the endpoint and the admin listener stand in one line of stderr. */
const READY = HAS_ADMIN
  ? /(http:\/\/[^\s"',]+\/mcp)\b.*?(http:\/\/[^\s"',/]+)/
  : /(http:\/\/[^\s"',]+\/mcp)\b/;

/** `cardea serve` with this config, resolved as soon as it says that it is ready: its servers may still be starting. */
export async function serveAtOnce(config: object): Promise<Serving> {
  const { file, remove } = writeConfig(config);
  return startServing(["serve", "--config", file, ...PORTS], remove);
}

/** A config file as an object. */
export interface Config {
  readonly mcpServers: Readonly<Record<string, object>>;
  readonly [section: string]: unknown;
}

/** `cardea serve` with this config, resolved when all of its servers were met, however busy the machine is. */
export async function serve(config: Config): Promise<Serving> {
  return met(await serveAtOnce(config));
}

/** `cardea -- COMMAND ARGS…`: one server as HTTP, resolved when it was met. */
export async function bridge(command: string, args: readonly string[]): Promise<Serving> {
  return met(await startServing([...PORTS, "--", command, ...args], async () => {}));
}

async function met(gateway: Serving): Promise<Serving> {
  try {
    await until("every server", () => (HAS_ADMIN ? allMet(gateway.admin) : noneStarts(gateway.url)));
    return gateway;
  } catch (error) {
    await gateway.stop();
    throw new Error(`the servers did not start:\n${gateway.process.stderr()}`, { cause: error });
  }
}

/**
 * Whether all servers were connected and all their lists are loaded, by the status page of the admin listener at `admin`. On a
 * slow machine the first of them may be at rest again before the last is there.
 */
export async function allMet(admin: string): Promise<boolean> {
  const page = await fetch(`${admin}/api/v1/status`);
  const { servers } = (await page.json()) as {
    readonly servers: readonly { readonly state: string; readonly stale: boolean }[];
  };
  return servers.every(({ state, stale }) => (state === "ready" || state === "idle") && !stale);
}

/** Whether no server is still starting, by the readiness of the listener for hosts. */
export async function noneStarts(url: string): Promise<boolean> {
  const page = await fetch(new URL("/readyz", url));
  return ((await page.json()) as { readonly starting?: readonly string[] }).starting === undefined;
}

/** The gateway of this command line; `after` is called when it has stopped. */
export async function startServing(
  args: readonly string[],
  after: () => Promise<void>,
  options: StartOptions = {},
): Promise<Serving> {
  const process = start(globalThis.process.execPath, [MAIN, ...args], options);
  const thenAfter = async (exited: Promise<Exit>): Promise<Exit> => {
    try {
      return await exited;
    } finally {
      await after();
    }
  };
  const stop = (): Promise<Exit> => thenAfter(process.stop());
  const end = (): Promise<Exit> => thenAfter(process.end());
  try {
    const [, url = "", admin = ""] = await process.says(READY);
    return { process, url, admin, stop, end };
  } catch (error) {
    await stop();
    throw error;
  }
}
