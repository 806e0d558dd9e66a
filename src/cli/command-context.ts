/** What a command finds around it: streams, environment, signals, the log, and the way to a gateway. */
import type { Readable, Writable } from "node:stream";
import type { Advice } from "../config/advice.js";
import type { CheckRules } from "../config/check-rules.js";
import type { Config, ListenConfig, ServerConfig } from "../config/config.js";
import type { ClusterFinding, OwnStore } from "../core/cluster.js";
import type { Logger } from "../core/logger.js";
import type { Gateway } from "../gateway/gateway.js";
import type { Primary } from "../gateway/primary.js";
import type { ProbeResult } from "../operator/probe.js";
import type { RunningGateway } from "../operator/run-files.js";
import { terminalSafe } from "./terminal-safe.js";

/** What a command uses of its process; tests replace it. */
export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: Readable;
  /** Data, and nothing else. */
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly signals: Signals;
  /** Resolves after `ms`. */
  wait(ms: number): Promise<void>;
  /** Opens the log. `secrets` never appear in it; `quiet` leaves out what is not a warning. */
  openLog(options?: { readonly quiet?: boolean }): Promise<Log>;
  /** Orphaned processes of an earlier gateway are reported or ended first, by `orphans`. */
  createGateway(config: Config, log: Log, orphans?: "name" | "end", ownerToken?: string): Promise<Gateway>;
  /** Puts `CARDEA_STATE_DIR` into `env`. */
  useStateFolder(folder: string): void;
  /** Lets commands of the same user find a gateway that serves, until the returned function is called. */
  announceGateway(gateway: RunningGateway, log: Log): Promise<() => Promise<void>>;
  /** Several workers, to be started as if they were one gateway. */
  createPrimary(order: WorkersRequest, logger: Logger): Promise<Primary>;
  /** Present in a worker, whose signals come from the first process. */
  readonly worker?: {
    /** The address of all workers, also where the config file has changed. */
    readonly listen: ListenConfig;
    /** Reports to the primary process that the worker serves `url`. */
    announce(url: string): void;
  };
  /** Compiles rules and limits; returns their faults. */
  checkRules: CheckRules;
  /** What is right about rules and limits by itself, and most likely not what was meant. */
  advisePolicy(config: Config): Promise<readonly Pick<Advice, "path" | "message">[]>;
  /** Starts or reaches one server once. */
  probe(server: ServerConfig, signal: AbortSignal, config: Config): Promise<ProbeResult>;
  /** The store of the config's cluster, where that keeps the sign-ins. The caller closes it. */
  openSignInStore(config: Config, logger: Logger): Promise<OwnStore | undefined>;
  /** Asks the store and each replica of the config's cluster once. */
  examineCluster(config: Config): Promise<readonly ClusterFinding[]>;
}

/** What the primary process starts its workers with. */
export interface WorkersRequest {
  readonly config: Config;
  readonly count: number;
  /** What is done about processes that a gateway or a worker left behind. */
  readonly orphans: "name" | "end";
}

/** A logger that can be given secrets to redact. */
export interface Log extends Logger {
  /** Values that must not be shown from now on. */
  addSecrets(secrets: Iterable<string>): void;
  /** The text without them, and without what looks like a secret. */
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
 * Writes untrusted text with control and hidden characters escaped, and waits until the stream has
 * taken it; EPIPE is ignored. In JSON the escapes mean what they stand for.
 */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.write(terminalSafe(text), () => resolve());
  });
}
