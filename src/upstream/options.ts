/** What an upstream can be given to work with, and what it takes where nothing is given. */
import type { ServerConfig } from "../config/config.js";
import type { Notice } from "../core/call.js";
import type { ClientDirectory } from "../core/client.js";
import { type Logger, SILENT } from "../core/logger.js";
import type { RestartReason } from "../core/upstream.js";
import type { JsonObject } from "../wire/json.js";
import { ParkedCalls } from "./legacy/parked-calls.js";
import type { RefusedQuestion } from "./legacy/server-requests.js";
import { channelFactory } from "./supervision/channel-factory.js";
import type { OpenChannel } from "./supervision/connect.js";
import { SpawnLimiter } from "./supervision/spawn-limiter.js";
import { NO_PROCESS_REGISTRY, type ProcessRegistry } from "./transport/process-registry.js";

export interface UpstreamOptions {
  /** How the gateway calls itself where it speaks for nobody else. */
  readonly gateway: { readonly name: string; readonly version: string };
  /** Which gateway this is, among all of them. Default: one that no other is behind. */
  readonly instance?: string;
  /** Finds the clients that can be asked between their calls. */
  readonly directory: ClientDirectory;
  /** Default: a process or HTTP connections, as the config says. */
  readonly openChannel?: OpenChannel;
  /** Default: silent. */
  readonly log?: Logger;
  /** Told each time a connection is about to be opened again, and why. */
  readonly onRestart?: (reason: RestartReason) => void;
  /** Whether clients see other servers beside this one, and must be told who asks them something; asked each
   *  time, because a new config may add a server. Default: yes. */
  readonly aggregated?: () => boolean;
  /** Where calls wait for answers; all servers should share one. Default: one of its own. */
  readonly parked?: ParkedCalls;
  /** Roots for servers that ask for them where no client can be asked. Default: there are none. */
  readonly roots?: readonly JsonObject[];
  /** Told of each question that reached nobody. */
  readonly onRefusedQuestion?: (why: RefusedQuestion) => void;
  /** Told what the server says of tasks by itself, which belongs to no call; it names them by its own ids. */
  readonly onTaskStatus?: (notice: Notice) => void;
  /** Told of each message of the server that nobody waited for, such as an answer that came too late. */
  readonly onUnmatchedMessage?: () => void;
  /** Where processes are written down, to be found when the gateway is killed. Default: nowhere. */
  readonly processRegistry?: ProcessRegistry;
  /** Lets processes start a few at a time; all servers should share one. Default: one of its own. */
  readonly spawnLimiter?: SpawnLimiter;
  /** What the first process waits for: the end of another one in whose place it comes. Default: nothing. */
  readonly after?: Promise<void>;
  /** How many connections may be kept for single clients. Default: 100. */
  readonly maxLeases?: number;
  /** How long (ms) such a connection is kept without use. Default: 30 min. */
  readonly leaseIdleMs?: number;
  /** Takes secrets out of what the server says of itself, before any of it is cut. Default: as it is. */
  readonly redact?: (text: string) => string;
  /** Numbers from 0 up to 1, for the jitter of waits. Default: `Math.random`. */
  readonly random?: () => number;
}

/** The same, complete. */
export interface UpstreamSettings extends Required<Omit<UpstreamOptions, "roots">> {
  readonly roots: readonly JsonObject[] | undefined;
  /** Ends what the channels shared, if they shared something of the upstream's own. */
  readonly closeChannels: () => Promise<void>;
}

export function withDefaults(server: ServerConfig, options: UpstreamOptions): UpstreamSettings {
  const log = options.log ?? SILENT;
  const channels =
    options.openChannel === undefined
      ? channelFactory(server, log, {
          onUnmatchedMessage: options.onUnmatchedMessage,
          processRegistry: options.processRegistry,
          redact: options.redact,
        })
      : { open: options.openChannel, close: async () => {} };
  return {
    instance: "",
    after: Promise.resolve(),
    onRestart: () => {},
    aggregated: () => true,
    parked: options.parked ?? new ParkedCalls(),
    roots: undefined,
    onRefusedQuestion: () => {},
    onTaskStatus: () => {},
    onUnmatchedMessage: () => {},
    processRegistry: NO_PROCESS_REGISTRY,
    spawnLimiter: options.spawnLimiter ?? new SpawnLimiter(),
    maxLeases: 100,
    leaseIdleMs: 30 * 60_000,
    redact: (text) => text,
    random: Math.random,
    ...options,
    log,
    openChannel: channels.open,
    closeChannels: () => channels.close(),
  };
}
