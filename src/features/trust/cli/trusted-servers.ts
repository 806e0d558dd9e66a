/** What commands read and write: what servers say now, the lock beside the config, and the gateway that reads it. */
import { readFile, stat, writeFile } from "node:fs/promises";
import type { CommandContext, Log } from "../../../cli/command-context.js";
import { EXIT, UsageError } from "../../../cli/exit.js";
import { actAt, type GatewayClient } from "../../../cli/gateway-client.js";
import { EditError, replaceFile } from "../../../cli/host-files/edit.js";
import { gatewayOfConfig } from "../../../cli/run-files.js";
import { progressTo } from "../../../cli/with-gateway.js";
import { closest } from "../../../config/closest.js";
import type { Config } from "../../../config/config.js";
import { settle } from "../../../core/stop.js";
import { isObject, type JsonObject, stringAt } from "../../../wire/json.js";
import type { CurrentServer } from "../lock/differences.js";
import { EMPTY_LOCK, type Lock, readServer, type ServerLock, writeLock } from "../lock/lock.js";
import { lockPath, readLockFile } from "../lock/lock-file.js";
import { withWrittenStart, writtenStarts } from "./written-starts.js";

/** What a command reads beside what the gateway says. */
export interface TrustedServersOptions {
  readonly log: Log;
  /** The server that the command is about. */
  readonly only: string | undefined;
  /** Of servers that the gateway does not have, as nothing of them can have changed. */
  readonly unchanged?: ReadonlyMap<string, ServerLock>;
  readonly features: CommandContext["features"];
}

/** What a command works on. */
export interface TrustedServers {
  /** The path of the lock. */
  readonly file: string;
  /** Undefined if there is no such file. */
  readonly lock: Lock | undefined;
  /** All servers of the config that could be read, by name, in its order. */
  readonly current: ReadonlyMap<string, CurrentServer>;
  /** Those that could not, with the reason. */
  readonly unread: ReadonlyMap<string, string>;
}

/**
 * Reads both. Undefined if the lock cannot be read: the log has the reason.
 *
 * @throws UsageError if the config does not have the server
 */
export async function trustedServers(
  gateway: GatewayClient,
  config: Config | undefined,
  { log, only, unchanged = new Map(), features }: TrustedServersOptions,
): Promise<TrustedServers | undefined> {
  if (config?.file === undefined)
    throw new UsageError("cardea.lock stands beside a config; name one with --config, and no --url");
  const names = config.servers.map(({ name }) => name);
  if (only !== undefined && !names.includes(only)) {
    const near = closest(only, names);
    throw new UsageError(
      `there is no server ${only} in ${config.file}${near === undefined ? "" : `; did you mean ${near}?`}`,
    );
  }
  const file = lockPath(config.file);
  const state = await readLockFile(file);
  if (state.kind === "unusable") {
    log.error({ file }, `${file} cannot be used: ${state.reason}`);
    return undefined;
  }
  const page = await gateway.page("trust", new URLSearchParams({ definitions: "true" }), progressTo(log));
  const failed = new Map([
    ...unreadIn(page),
    ...(await gateway.missing()).map(
      ({ server, error = "it cannot be reached" }) => [server, error] as const,
    ),
  ]);
  const written = await writtenStarts(config, { features });
  const read = new Map([...definitionsIn(page)].filter(([name]) => !failed.has(name)));
  const current = new Map(
    names.flatMap((name): readonly (readonly [string, CurrentServer])[] => {
      const kept = unchanged.get(name);
      if (kept !== undefined) return [[name, { ...kept, isMet: true }]];
      const known = read.get(name);
      return known === undefined ? [] : [[name, withWrittenStart(known, written.get(name))]];
    }),
  );
  const wanted = only === undefined ? names : [only];
  const unread = new Map(
    wanted
      .filter((name) => !current.has(name))
      .map((name) => [name, failed.get(name) ?? "it has listed nothing yet"]),
  );
  return { file, lock: state.kind === "good" ? state.lock : undefined, current, unread };
}

const rowsOf = (page: unknown): readonly JsonObject[] =>
  isObject(page) && Array.isArray(page.servers) ? page.servers.filter(isObject) : [];

const unreadIn = (page: unknown): readonly (readonly [string, string])[] =>
  rowsOf(page).flatMap(({ server, unread }) =>
    typeof server === "string" && typeof unread === "string" ? [[server, unread]] : [],
  );

function* definitionsIn(page: unknown): Iterable<readonly [string, CurrentServer]> {
  for (const row of rowsOf(page)) {
    if (!isObject(row.definitions)) continue;
    const server = stringAt(row, "server") ?? "";
    yield [server, { ...readServer(row.definitions, server), isMet: row.definitions.isMet === true }];
  }
}

/**
 * Writes the lock that `next` makes of the one in the file, in one step; a file that another program changes meanwhile is read
 * again. Returns the exit code; the log has the reason for any except 0.
 */
export async function updateLock(file: string, next: (lock: Lock) => Lock, log: Log): Promise<number> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const state = await readLockFile(file);
    if (state.kind === "unusable") {
      log.error({ file }, `${file} cannot be used: ${state.reason}`);
      return EXIT.failed;
    }
    const written = await settle(write(file, next(state.kind === "good" ? state.lock : EMPTY_LOCK)));
    if (written.ok) return EXIT.done;
    const { error } = written;
    const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    if (code === "EEXIST" || (error instanceof EditError && attempt + 1 < MAX_ATTEMPTS)) continue;
    if (code === undefined && !(error instanceof EditError)) throw error;
    const why = error instanceof EditError ? error.message : code;
    log.error({ file }, `${file} cannot be written: ${why}; nothing is approved`);
    return EXIT.failed;
  }
  log.error({ file }, `${file} cannot be written: other programs keep changing it; run the command again`);
  return EXIT.failed;
}

/** How often a file that changes meanwhile is read again. */
const MAX_ATTEMPTS = 5;

async function write(file: string, lock: Lock): Promise<void> {
  const after = writeLock(lock);
  const isThere = await stat(file).then(
    () => true,
    () => false,
  );
  // A colleague reads it from the repository.
  if (!isThere) await writeFile(file, after, { flag: "wx", mode: 0o644 });
  else await replaceFile(file, { before: await readFile(file, "utf8"), after });
}

/** Notifies the gateway that runs with this config, whose audit log gets a line. `name`: what was approved. */
export async function notifyGateway(
  { file }: Pick<Config, "file">,
  server: string,
  name: string,
  { shell, log }: { readonly shell: CommandContext; readonly log: Log },
): Promise<void> {
  const running = file === undefined ? undefined : await gatewayOfConfig(shell.env, file);
  if (running?.adminUrl === undefined) return;
  const { adminUrl, token } = running;
  const path = `trust/${encodeURIComponent(server)}/approved/${encodeURIComponent(name)}`;
  const told = await settle(actAt({ adminUrl, token }, path, {}));
  if (told.ok) log.info({ adminUrl }, "the running gateway has read the file");
  else
    log.warn(
      { adminUrl },
      "the running gateway could not be notified; it reads the file within 5 s, and its audit log has no line of this",
    );
}
