/** The environment of a command: streams, variables, signals, the log, and access to a gateway. */
import type { Readable, Writable } from "node:stream";
import type { Config, ServerConfig } from "../config/config.js";
import type { Logger } from "../core/logger.js";
import type { Finding } from "../core/replicas.js";
import type { OwnStore } from "../core/shared-store.js";
import type { Gateway } from "../gateway/gateway.js";
import type { Feature } from "./feature.js";
import type { ProbeResult } from "./probe.js";
import type { RunningGateway } from "./run-files.js";
import type { JoinedProcess, Served, ServingRun } from "./serving-mode.js";
import { terminalSafe } from "./terminal-safe.js";

/** The parts of its process that a command uses; tests replace them. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: Readable;
  /** Data only. */
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly signals: Signals;
  /** The features of this build. */
  readonly features: readonly Feature[];
  /** Resolves after `ms`. */
  wait(ms: number): Promise<void>;
  /** Opens the log. `secrets` are redacted; `quiet` omits messages below warnings. */
  openLog(options?: { readonly quiet?: boolean }): Promise<Log>;
  /** Orphaned processes of an earlier gateway are reported or killed first, depending on `orphans`. */
  createGateway(config: Config, log: Log, orphans?: "name" | "end", ownerToken?: string): Promise<Gateway>;
  /** Writes `CARDEA_STATE_DIR` into `env`. */
  useStateFolder(folder: string): void;
  /** Lets commands of the same user find a serving gateway, until the returned function is called. */
  announceGateway(gateway: RunningGateway, log: Log): Promise<() => Promise<void>>;
  /** Several processes, started like one gateway; orphaned processes of an earlier one are reported or killed first. */
  openServing(run: ServingRun, config: Config, first: FirstProcess, logger: Logger): Promise<Served>;
  /** Set in one of several processes, whose signals come from the one that has started it. */
  readonly worker?: Pick<JoinedProcess, "listen" | "sections" | "announce">;
  /** Probes one server. */
  probe(server: ServerConfig, signal: AbortSignal, config: Config): Promise<ProbeResult>;
  /** The store that the config shares with other processes, if it holds what features keep. The caller closes it. */
  openStore(config: Config, logger: Logger): Promise<OwnStore | undefined>;
  /** Checks once what features need outside of this process, by the names of those that need something. */
  findings(config: Config): Promise<Readonly<Record<string, readonly Finding[]>>>;
}

/** What the first of several processes does for all of them. */
interface FirstProcess {
  /** What happens to processes that a gateway left behind. */
  readonly orphans: "name" | "end";
  /** Lets commands of the same user use the listener for operators. */
  readonly ownerToken: string;
}

/** A logger with secrets to redact. */
export interface Log extends Logger {
  /** Adds values to redact. */
  addSecrets(secrets: Iterable<string>): void;
  /** The text without them, and without probable secrets. */
  readonly redact: (text: string) => string;
}

/** The signals of the process. */
export interface Signals {
  /** Resolves with the next unhandled SIGINT or SIGTERM. */
  next(): Promise<NodeJS.Signals>;
  /** Calls `reload` at each SIGHUP until the returned function is called. */
  onHangup(reload: () => void): () => void;
}

/**
 * Writes untrusted text with control and invisible characters escaped, and waits until the stream has accepted it;
 * EPIPE is ignored. In JSON the escapes keep their meaning.
 */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.write(terminalSafe(text), () => resolve());
  });
}
