/** The parts of the gateway that live as long as the process, across configs. */

import { createSecretKey, hkdfSync, type KeyObject, randomBytes, randomUUID } from "node:crypto";
import type { Config, ServerConfig } from "../config/config.js";
import { CallIds, type Middleware } from "../core/call.js";
import type { OpenFeature } from "../core/feature.js";
import { SERVER_NAME } from "../core/gateway-api.js";
import type { Logger } from "../core/logger.js";
import type { ProcessMember } from "../core/process-member.js";
import type { ReplicaParts, SessionRecords } from "../core/replicas.js";
import { sealedState } from "../resilience/sealed-state.js";
import { Tasks } from "../routing/tasks.js";
import { callContent } from "../telemetry/call-content.js";
import type { RecordSink } from "../telemetry/call-records.js";
import { LiveCalls } from "../telemetry/live-calls.js";
import { Metrics } from "../telemetry/metrics.js";
import { PendingQuestions } from "../telemetry/pending-questions.js";
import { ParkedCalls } from "../upstream/legacy/parked-calls.js";
import type { ChannelKinds } from "../upstream/supervision/channel-kind.js";
import type { OpenChannel } from "../upstream/supervision/connect.js";
import { SpawnLimiter } from "../upstream/supervision/spawn-limiter.js";
import { ProcessGroups, type ProcessRegistry } from "../upstream/transport/process-group.js";
import { DrainingServers } from "./draining-servers.js";
import { KnownPrincipals } from "./known-principals.js";
import { SessionDirectory } from "./server-runtime.js";
import { Slots } from "./slots.js";

/** Dependencies from the process. */
export interface GatewayOptions {
  readonly logger: Logger;
  /** Redacts secrets in texts for hosts and operators. Default: the identity function. */
  readonly redact?: (text: string) => string;
  readonly version: string;
  /** Lets commands of the same user use the listener for operators. Default: none. */
  readonly ownerToken?: string;
  /**
   * Records the processes of servers, so that the next start finds those that a killed gateway left behind. Default:
   * records nothing.
   */
  readonly processRegistry?: ProcessRegistry;
  /** This process as one of several that serve the same address; absent with a single one. */
  readonly member?: ProcessMember;
  /** Keeps the sessions for the next process of this machine; not with other replicas. Default: they end with this one. */
  readonly sessionFiles?: SessionRecords & { close(): Promise<void> };
  /** The features that are open, in the order of their list; the gateway closes them. Default: none. */
  readonly features?: readonly OpenFeature[];
  /** The ways to reach servers that features add. Default: none. */
  readonly channels?: ChannelKinds;
}

interface GatewayIdentity {
  /** Its name and version, as hosts and servers see them. */
  readonly info: { readonly name: string; readonly version: string };
  /** Unique per gateway, the same for all its processes and replicas; a chain of gateways detects loops by it. */
  readonly instance: string;
  readonly member?: ProcessMember;
  /** The prefix of ids that only this process can use; absent with a single process. */
  readonly issuer?: string;
}

/** Where the gateway writes what happens. */
export interface Telemetry {
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Redacts secrets in texts for hosts and operators. */
  readonly redact: (text: string) => string;
  /** Pending questions of servers. */
  readonly pendingQuestions: PendingQuestions;
  /** Calls for operators: running ones, the last ones, and an hour of statistics. */
  readonly liveCalls: LiveCalls;
  /** Each receives the record of every finished call; `liveCalls` is one of them. */
  readonly recordSinks: readonly RecordSink[];
}

interface ServerProcesses {
  readonly groups: ProcessGroups;
  readonly spawnLimiter: SpawnLimiter;
  /** Generates the ids of requests to all servers. */
  readonly requestIds: CallIds;
  /** Servers of earlier configs with running calls. */
  readonly draining: DrainingServers;
  /** Opens channels to a server. Default: a process or HTTP connections, depending on its config. */
  readonly openChannel?: (server: ServerConfig) => OpenChannel;
}

interface SessionParts {
  /** What tokens have said of those who sent them. */
  readonly principals: KnownPrincipals;
  readonly directory: SessionDirectory;
  /** Where sessions over HTTP outlive this process; absent where they end with it. */
  readonly records?: SessionRecords;
  /** Calls parked until the question of their server is answered. */
  readonly parkedCalls: ParkedCalls;
}

/** Sealed state that hosts carry for the gateway. */
interface SealedParts {
  /** Seals the state of each round that ends in questions. */
  readonly state: Middleware;
  /** How long (ms) a newly sealed state can be answered. */
  readonly answerMs: () => number;
  readonly tasks: Tasks;
}

/** The parts, grouped by purpose. */
export interface GatewayParts {
  readonly identity: GatewayIdentity;
  readonly callIds: CallIds;
  readonly telemetry: Telemetry;
  readonly features: Slots;
  readonly processes: ServerProcesses;
  readonly sessions: SessionParts;
  readonly sealed: SealedParts;
  /** Absent without other replicas. */
  readonly replica?: ReplicaParts;
}

/** A sealed state can be answered for at least this long (ms), and as long as its call may be parked. */
const MIN_STATE_TTL_MS = 3_600_000;

/** Builds the parts; `config` gives the limits of parked calls and the secret for the keys. */
export function createParts(config: Config, options: GatewayOptions): GatewayParts {
  const { logger, redact = (text) => text, version, processRegistry, member } = options;
  const metrics = new Metrics({ version });
  const parkedCalls = new ParkedCalls(config.parkedCalls);
  const ttlMs = () => Math.max(MIN_STATE_TTL_MS, parkedCalls.answerMs);
  metrics.gauge("orphans", {}, async () => (await processRegistry?.orphans())?.length ?? 0);
  metrics.gauge("parkedCalls", {}, () => parkedCalls.size);
  const features = new Slots(options.features ?? [], metrics, options.channels);
  const liveCalls = new LiveCalls(features.showsContent ? callContent(redact) : undefined);
  const { shared } = features;
  const replica = shared?.replica;
  const records = replica === undefined ? options.sessionFiles : replica.sessions;
  const keys = secretKeys(shared?.secret ?? config.keys?.state ?? member?.secret);
  const issuer = replica?.id ?? (member === undefined ? undefined : String(member.number));
  return {
    identity: {
      info: { name: SERVER_NAME, version },
      instance: instanceId(shared === undefined ? member?.secret : shared.secret),
      ...(member !== undefined && { member }),
      ...(issuer !== undefined && { issuer }),
    },
    callIds: new CallIds(),
    telemetry: {
      ...{ logger, metrics, redact, liveCalls },
      pendingQuestions: new PendingQuestions(metrics, ttlMs),
      recordSinks: [liveCalls.sink, ...features.recordSinks],
    },
    features,
    processes: {
      groups: new ProcessGroups(processRegistry),
      spawnLimiter: new SpawnLimiter(),
      requestIds: new CallIds(),
      draining: new DrainingServers(logger),
    },
    sessions: {
      principals: new KnownPrincipals(),
      directory: new SessionDirectory(),
      parkedCalls,
      ...(records !== undefined && { records }),
    },
    sealed: {
      state: sealedState({
        key: keys.states,
        ttlMs,
        ...(issuer !== undefined && { issuer }),
        isShared: replica !== undefined,
      }),
      answerMs: ttlMs,
      tasks: new Tasks(keys.tasks, issuer),
    },
    ...(replica !== undefined && { replica: observed(replica, metrics) }),
  };
}

/** The replica, whose state the metrics show. */
function observed(replica: ReplicaParts, metrics: Metrics): ReplicaParts {
  const { store, directory, owners } = replica;
  metrics.gauge("clusterReplicas", {}, () => directory.count);
  if (store !== undefined) metrics.gauge("clusterStoreUp", {}, () => (store.isUp ? 1 : 0));
  owners.onForwarded = (outcome, ms) => metrics.clusterForwarded(outcome, ms);
  replica.observe({
    onAdopted: (outcome) => metrics.clusterAdopted(outcome),
    onLeaseCall: (kind) => metrics.clusterLeaseCall(kind),
  });
  return replica;
}

function instanceId(secret: string | undefined): string {
  if (secret === undefined) return randomUUID();
  return Buffer.from(hkdfSync("sha256", secret, "cardea", "instance", 16)).toString("hex");
}

/** One key per use, derived from `secret` (HKDF, RFC 5869); without a secret the keys are new at each start. */
function secretKeys(secret: string | undefined) {
  const material = secret === undefined ? randomBytes(32) : Buffer.from(secret, "utf8");
  const derived = (use: string): KeyObject =>
    createSecretKey(Buffer.from(hkdfSync("sha256", material, "cardea", use, 32)));
  return { states: derived("request states"), tasks: derived("task handles") };
}
