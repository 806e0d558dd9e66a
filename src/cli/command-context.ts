/** What a command finds around it: streams, environment, signals, the log, and the way to a gateway. */
import type { Readable, Writable } from "node:stream";
import type { Advice } from "../config/advice.js";
import type { CheckRules } from "../config/check-rules.js";
import type { Config, ListenConfig, ServerConfig } from "../config/config.js";
import type { Logger } from "../core/logger.js";
import type { Gateway } from "../gateway/gateway.js";
import type { Primary } from "../gateway/primary.js";
import type { ProbeResult } from "../operator/probe.js";
import { terminalSafe } from "./terminal-safe.js";

export interface CommandContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdin: Readable;
  /** Data, and nothing else. */
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly signals: Signals;
  /** Opens the log. `secrets` never appear in it; `quiet` leaves out what is not a warning. */
  openLog(options?: { readonly quiet?: boolean }): Promise<Log>;
  /** Processes that an earlier gateway left behind are named or ended first, where `orphans` says so. */
  createGateway(config: Config, log: Log, orphans?: "name" | "end"): Promise<Gateway>;
  /** Several workers, to be started as if they were one gateway. */
  createPrimary(order: WorkersRequest, logger: Logger): Promise<Primary>;
  /** Present in a worker, whose signals come from the first process. */
  readonly worker?: {
    /** Where all workers listen, whatever the config file says by now. */
    readonly listen: ListenConfig;
    /** Tells the first process that hosts are answered at `url`. */
    announce(url: string): void;
  };
  /** Tells whether rules and limits can be put into effect. */
  checkRules: CheckRules;
  /** What is right about rules and limits by itself, and most likely not what was meant. */
  advisePolicy(config: Config): Promise<readonly Pick<Advice, "path" | "message">[]>;
  /** Starts or reaches one server once. */
  probe(server: ServerConfig, signal: AbortSignal): Promise<ProbeResult>;
}

export interface WorkersRequest {
  readonly config: Config;
  readonly count: number;
  /** What is done about processes that a gateway or a worker left behind. */
  readonly orphans: "name" | "end";
}

export interface Log extends Logger {
  /** Values that must not be shown from now on. */
  addSecrets(secrets: Iterable<string>): void;
  /** The text without them, and without what looks like a secret. */
  readonly redact: (text: string) => string;
}

export interface Signals {
  /** Resolves with the next SIGINT or SIGTERM that nobody has taken yet. */
  next(): Promise<NodeJS.Signals>;
  /** Calls `reload` at each SIGHUP until the returned function is called. */
  onHangup(reload: () => void): () => void;
}

/**
 * Writes text, whoever it comes from, so that nothing in it steers a terminal or hides, and waits until the stream has
 * taken it; a reader that has gone away is nobody's error. In JSON the escapes mean what they stand for.
 */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.write(terminalSafe(text), () => resolve());
  });
}
