/** What is an upstream given to work with, which defaults hold where nothing is given, and how are its channels opened? */
import type { ServerConfig } from "../../config/config.js";
import { CallIds, type Notice } from "../../core/call.js";
import type { CredentialStore } from "../../core/credentials.js";
import { signInRequired } from "../../core/errors.js";
import { type Logger, SILENT } from "../../core/logger.js";
import type { StartLayer } from "../../core/process-start.js";
import type { SharedServer } from "../../core/replicas.js";
import { asOfKey } from "../../core/sign-in-command.js";
import type { AnswerMisfit, RestartReason } from "../../core/upstream.js";
import type { JsonObject } from "../../wire/json.js";
import { ParkedCalls } from "../legacy/parked-calls.js";
import { QuestionPace } from "../legacy/question-pace.js";
import type { QuestionSettings } from "../legacy/settings.js";
import type { ProcessGroups } from "../transport/process-group.js";
import { channelFactory } from "./channel-factory.js";
import type { ChannelKinds } from "./channel-kind.js";
import type { OpenChannel } from "./connect.js";
import { SpawnLimiter } from "./spawn-limiter.js";
import { readMemory, type UpstreamMemory } from "./upstream-memory.js";

/** This gateway, as servers and other gateways see it. */
export interface GatewayIdentity {
  /** The `clientInfo` of requests that the gateway sends for no client. */
  readonly info: { readonly name: string; readonly version: string };
  /** The id of this gateway among all gateways, by which loops are found. Default: "", which no other gateway has. */
  readonly instance?: string;
  /** Whether clients see other servers beside this one, so that questions must name their server. Evaluated for each
   *  question, as a new config may add a server. Default: yes. */
  readonly isAggregated?: () => boolean;
}

/** How channels, processes and connections begin and end. */
export interface LifecycleOptions {
  /** Default: a process, HTTP connections, or one of `channels`, as the config says. */
  readonly openChannel?: OpenChannel | undefined;
  /** Those of features. Default: none. */
  readonly channels?: ChannelKinds | undefined;
  /** Change the starts of processes. Default: none. */
  readonly startLayers?: readonly StartLayer[] | undefined;
  /** Starts and records processes, and ends them with the gateway. All servers should share one. Default: one of its own. */
  readonly processes?: ProcessGroups;
  /** Limits how many processes start at the same time; all servers should share one. Default: one of its own. */
  readonly spawnLimiter?: SpawnLimiter;
  /**
   * Numbers the requests over all connections, as servers may keep state by id across connections. All servers should
   * share one. Default: one of its own.
   */
  readonly requestIds?: CallIds;
  /** What the first connection waits for: the end of the upstream that it replaces. Default: nothing. */
  readonly after?: Promise<void>;
  /** The maximum number of connections for single clients. Default: 100 of a stdio server, which are processes, else 1,000. */
  readonly maxLeases?: number;
  /**
   * Whether a task is open of the clients with this affinity (undefined: of any client); their connection is kept open
   * then. Default: no.
   */
  readonly hasOpenTask?: (affinity: string | undefined) => boolean;
  /** Numbers from 0 up to 1, for the jitter of the backoff. Default: `Math.random`. */
  readonly random?: () => number;
}

/** Callbacks for metrics and for what belongs to no call. Default of each: none. */
export interface UpstreamObservers {
  /** Called each time before a connection is opened again, with the reason. */
  readonly onRestart?: (reason: RestartReason) => void;
  /** Called with each task status that belongs to no call; the notice has the server's own task id. */
  readonly onTaskStatus?: (notice: Notice) => void;
  /** Called for each message of the server that matches no request, such as a late response. */
  readonly onUnmatchedMessage?: () => void;
  /** Called with each line that a process writes to stderr, secrets included. */
  readonly onOutput?: (line: string) => void;
  /** Called with each success of an HTTP API that does not fit the output schema of its tool. */
  readonly onAnswerMisfit?: (misfit: AnswerMisfit) => void;
}

/** All that an upstream is given, in named parts. */
export interface UpstreamOptions {
  readonly gateway: GatewayIdentity;
  /** `parked` should be shared by all servers. Default: one of its own. */
  readonly questions: Pick<QuestionSettings, "directory"> & Partial<QuestionSettings>;
  readonly lifecycle?: LifecycleOptions;
  readonly observers?: UpstreamObservers;
  /** Default: none are kept. */
  readonly credentials?: CredentialStore | undefined;
  /** Default: silent. */
  readonly log?: Logger;
  /** Removes secrets from what a server writes, before it is cut to length. Default: unchanged. */
  readonly redact?: (text: string) => string;
  /** `memory()` of an upstream of the same server in an earlier process; ignored where it is none. Default: none. */
  readonly memory?: JsonObject | undefined;
  /** What other replicas found out about the same server. Default: there are none. */
  readonly others?: Pick<SharedServer, "readEra" | "keepEra"> | undefined;
}

/** The options with all defaults filled in. */
export interface UpstreamSettings {
  readonly gateway: Required<GatewayIdentity>;
  readonly questions: QuestionSettings;
  readonly lifecycle: Required<
    Omit<LifecycleOptions, "processes" | "openChannel" | "channels" | "startLayers">
  >;
  readonly observers: Pick<Required<UpstreamObservers>, "onRestart" | "onTaskStatus">;
  readonly credentials: CredentialStore;
  readonly log: Logger;
  readonly memory: UpstreamMemory | undefined;
  readonly others: UpstreamOptions["others"];
  readonly openChannel: OpenChannel;
  /** Closes what the upstream's own channels share; those of a given `openChannel` share nothing. */
  readonly closeChannels: () => Promise<void>;
}

/** Fills in the defaults; `server` decides how channels are opened. */
export function withDefaults(server: ServerConfig, options: UpstreamOptions): UpstreamSettings {
  const { lifecycle = {}, observers = {}, log = SILENT, redact } = options;
  const channels =
    lifecycle.openChannel === undefined
      ? channelFactory(server, log, {
          kinds: lifecycle.channels,
          onUnmatchedMessage: observers.onUnmatchedMessage,
          onOutput: observers.onOutput,
          onAnswerMisfit: observers.onAnswerMisfit,
          processes: lifecycle.processes,
          startLayers: lifecycle.startLayers,
          redact,
        })
      : { open: lifecycle.openChannel, close: async () => {} };
  return {
    gateway: { instance: "", isAggregated: () => true, ...options.gateway },
    questions: {
      parked: new ParkedCalls(),
      pace: new QuestionPace(),
      roots: undefined,
      onRefused: () => {},
      ...options.questions,
    },
    lifecycle: {
      spawnLimiter: new SpawnLimiter(),
      requestIds: new CallIds(),
      after: Promise.resolve(),
      maxLeases: server.transport.kind === "stdio" ? 100 : 1_000,
      hasOpenTask: () => false,
      random: Math.random,
      ...lifecycle,
    },
    observers: { onRestart: () => {}, onTaskStatus: () => {}, ...observers },
    credentials: options.credentials ?? NO_STORE,
    log,
    memory: readMemory(server, options.memory),
    others: options.others,
    openChannel: channels.open,
    closeChannels: () => channels.close(),
  };
}

/** The store of a gateway that keeps no credentials: at a server that asks for some, every call needs a sign-in. */
const NO_STORE: CredentialStore = {
  of: (server, key) => ({
    header: undefined,
    obtain: () => Promise.reject(signInRequired(server, asOfKey(key))),
    onRejected: () => Promise.resolve(signInRequired(server, asOfKey(key))),
  }),
  watch: () => () => {},
  offersSignIn: () => Promise.resolve(false),
};
