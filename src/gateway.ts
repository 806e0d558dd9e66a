/**
 * Wires every part together; the only file that knows them all. A host's message comes in through a listener and
 * the edge of its era, goes through the inside of the config in effect, and leaves through one of its servers.
 */

import type { Readable, Writable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { createAdmin } from "./admin/server.js";
import { adminPages } from "./admin-pages.js";
import type { Config } from "./config/config.js";
import type { Reply } from "./core/call.js";
import { ANONYMOUS, type ClientDirectory } from "./core/client.js";
import type { GatewayError } from "./core/errors.js";
import { SERVER_NAME } from "./core/gateway-port.js";
import { KeptBudget } from "./core/kept-budget.js";
import type { Logger } from "./core/logger.js";
import { type Seat, socketOf } from "./core/seat.js";
import type { ListKind } from "./core/upstream.js";
import { principalNamed } from "./downstream/authenticate/api-keys.js";
import {
  type Authentication,
  createAuthentication,
  EVERYBODY_IS_ANONYMOUS,
} from "./downstream/authenticate/authentication.js";
import { eraOfMessage } from "./downstream/detect-era.js";
import type { Pipe } from "./downstream/edge.js";
import { createHandOver } from "./downstream/hand-over.js";
import { checkExposure, createHttpListener } from "./downstream/http-listener.js";
import { createLegacyEdge, type LegacyEdge } from "./downstream/legacy/edge.js";
import { createHttpSse } from "./downstream/legacy/http-sse.js";
import { createModernEdge, type ModernEdge } from "./downstream/modern/edge.js";
import { sealedState } from "./downstream/modern/request-state.js";
import { createStdioListener, type StdioListener } from "./downstream/stdio-listener.js";
import type { Supposed } from "./explain.js";
import { InEffect } from "./in-effect.js";
import type { InsideOptions } from "./inside.js";
import { ownCall, ownExplanation, ownLists } from "./own-calls.js";
import { portOf } from "./port.js";
import { readiness, requiredServers } from "./readiness.js";
import { Retired } from "./retired.js";
import { Tasks } from "./routing/tasks.js";
import { instanceOf, secretKeys } from "./secret-keys.js";
import { InputWaits } from "./telemetry/input-wait.js";
import { Metrics } from "./telemetry/metrics.js";
import { OpenStreams } from "./telemetry/open-streams.js";
import { ParkedCalls } from "./upstream/legacy/parked-calls.js";
import { Starts } from "./upstream/starts.js";
import { NO_LEDGER, type ProcessLedger } from "./upstream/transport/process-ledger.js";
import { vitalSigns } from "./vital-signs.js";
import type { JsonObject } from "./wire/json.js";

export interface GatewayOptions {
  readonly logger: Logger;
  /** Takes secrets out of what hosts and operators are told. Default: there are none. */
  readonly redact?: (text: string) => string;
  /** The program's own version. */
  readonly version: string;
  /** Where processes of servers are written down, to be found when this one is killed. Default: nowhere. */
  readonly ledger?: ProcessLedger;
  /** Which of several workers this is; absent where there is one process. */
  readonly seat?: Seat;
}

export interface Gateway {
  /** Opens the listeners and resolves when both answer; it waits for no server. @throws the error of the system. */
  start(): Promise<{ readonly url: string; readonly adminUrl: string }>;
  /** Resolves when a server that the config calls `required` could not be met after the start; else never. */
  readonly failed: Promise<GatewayError>;
  /**
   * Says that it is not ready, and takes no new calls: at once, or 5 s later where somebody asks for `/readyz`; and while
   * calls are under way, so long at most, whoever comes to ask is told. Lets them finish for 25 s in all, and ends
   * everything it owns.
   */
  stop(options?: { readonly immediate?: boolean }): Promise<void>;
  /** Serves the host on the pipe until the input ends; `as` is the id of its principal, by default nobody's. */
  stdio(input: Readable, output: Writable, as?: string): Promise<void>;
  /** What a host sees, and from which server, once every server was heard or failed. */
  lists(kind: ListKind): Promise<readonly { readonly server: string; readonly item: JsonObject }[]>;
  /** Calls a tool by the name a host would use. */
  call(name: string, args: JsonObject): Promise<Reply>;
  /** What would become of a call of somebody, and why; nothing is called. */
  explain(supposed: Supposed): ReturnType<typeof ownExplanation>;
  /** Puts a new config into effect as a whole; rejects, and keeps the old one, when that cannot be done. */
  reload(config: Config): Promise<void>;
  /** A new config was refused and the old one stays; for the metric and the readiness page. */
  reloadFailed(reasons: readonly string[]): void;
}

/** So long may stopping take until calls under way are cut off, in ms. */
const DRAIN_MS = 25_000;
/** So much of it (ms) is served on, where somebody in front asks whether anything may be sent here, or may yet ask. */
const LINGER_MS = 5_000;
/** Whoever has not asked for so long (ms) does not ask any more. */
const ASKS_MS = 60_000;
const KEEP_ALIVE_MS = 25_000;
/** A state can be answered for so long (ms), and for as long as a call may be parked. */
const STATE_MS = 3_600_000;
const SESSIONS = { max: 10_000, idleMs: 30 * 60_000 };

export function createGateway(config: Config, options: GatewayOptions): Gateway {
  const { logger, version, ledger = NO_LEDGER, redact = (text) => text, seat } = options;
  const worker = seat === undefined ? {} : { worker: seat.number };
  const info = { name: SERVER_NAME, version };
  const metrics = new Metrics({ version });
  const openStreams = new OpenStreams(metrics);
  const vitals = vitalSigns({ logger, metrics });
  const { pressure, shed, room, heldBodyBytes } = vitals;
  const keys = secretKeys(config.keys?.state ?? seat?.secret);
  const startedAt = Date.now();
  let draining = false;
  let refused: readonly string[] = [];

  // Servers may have to find a session before any session can exist, so the directory looks the edge up late.
  const directory: ClientDirectory = { find: (affinity) => legacy.directory.find(affinity) };
  const insideOptions: InsideOptions = {
    info,
    instance: instanceOf(seat?.secret),
    logger,
    redact,
    metrics,
    directory,
    ledger,
    starts: new Starts(),
    retired: new Retired(logger),
    parked: new ParkedCalls(config.parkedCalls),
    waits: new InputWaits(metrics, () => answerableMs()),
    judge: (server, client, question) => inEffect.inside.judge(server, client, question),
    aggregated: () => inEffect.inside.config.servers.length > 1,
    sealedState: sealedState({ key: keys.states, ttlMs: () => answerableMs(), ...worker }),
    stateSecret: keys.rounds,
    tasks: new Tasks(keys.tasks, seat?.number),
  };
  const inEffect = new InEffect(config, insideOptions);
  // No state is void while the call that it is of still waits.
  const answerableMs = (): number => Math.max(STATE_MS, inEffect.inside.config.parkedCalls.answerMs);

  const port = portOf(inEffect, insideOptions);
  const kept = new KeptBudget();
  const legacy: LegacyEdge = createLegacyEdge({
    port,
    sessions: SESSIONS,
    keepAliveMs: KEEP_ALIVE_MS,
    kept,
    answerMs: () => (inEffect.inside.config.parkedCalls.answerMs * 2) / 3, // sooner than its call is given up
    room,
    logger,
    ...worker,
    hooks: {
      streamOpened: (kind) => openStreams.opened(kind === "general" ? "session" : "response"),
      streamClosed: (kind) => openStreams.closed(kind === "general" ? "session" : "response"),
    },
  });
  const modern: ModernEdge = createModernEdge({
    port,
    gatewayInfo: info,
    keepAliveMs: KEEP_ALIVE_MS,
    room,
    kept,
    logger,
    streams: (kind, change) => (change === 1 ? openStreams.opened(kind) : openStreams.closed(kind)),
  });
  metrics.read("orphans", {}, async () => (await ledger.orphans()).length);
  metrics.read("parkedCalls", {}, () => insideOptions.parked.size);
  metrics.read("sessions", { era: "legacy" }, () => legacy.sessions().length);

  const ready = () => readiness({ draining, servers: inEffect.inside.servers, refused, redact });
  let askedAt = Number.NEGATIVE_INFINITY;
  const probed = () => {
    askedAt = performance.now();
    return ready();
  };
  const sse = createHttpSse({
    edge: legacy,
    keepAliveMs: KEEP_ALIVE_MS,
    room,
    logger,
    ...worker,
    hooks: { opened: () => openStreams.opened("sse"), closed: () => openStreams.closed("sse") },
  });
  const authenticationOf = ({ auth }: Config): Authentication =>
    auth === undefined
      ? EVERYBODY_IS_ANONYMOUS
      : createAuthentication(auth, {
          url: () => url ?? "",
          logger,
          failed: (reason) => metrics.authFailed(reason),
        });
  let authentication = authenticationOf(config);
  const http = createHttpListener({
    listen: config.listen.http,
    port,
    modern,
    legacy,
    ...(config.listen.http.legacySse && { sse }),
    // A later config may know others.
    authentication: {
      get isRequired() {
        return authentication.isRequired;
      },
      authenticate: (request) => authentication.authenticate(request),
      metadata: () => authentication.metadata(),
      challenge: (scopes) => authentication.challenge(scopes),
    },
    ready: probed,
    pressure,
    shed,
    heldBodyBytes,
    logger,
    ...(seat !== undefined && {
      workers: { handOver: createHandOver(seat, logger), socket: socketOf(seat, seat.number, "requests") },
    }),
  });
  const admin = createAdmin({
    // Of several workers each shows its pages to the first process alone, which shows them to everybody.
    ...(seat === undefined
      ? config.listen.admin
      : { host: "localhost", port: 0, socket: socketOf(seat, seat.number, "admin") }),
    allowedHosts: config.listen.http.allowedHosts,
    logger,
    redact,
    metrics,
    ready: probed,
    pages: adminPages({
      inside: () => inEffect.inside,
      waits: insideOptions.waits,
      legacy,
      ready,
      version,
      startedAt,
      url: () => url,
    }),
  });
  let url: string | undefined;
  let listening = false;
  const pipes = new Set<StdioListener>();
  let stopping: Promise<void> | undefined;

  async function stop(graceMs: number): Promise<void> {
    draining = true;
    const listeners = [...pipes].map((pipe) => pipe.stop(graceMs));
    // A load balancer that asks would otherwise send calls to a closed door until it asks again.
    const isAsked = performance.now() - askedAt < ASKS_MS;
    const lingerMs = graceMs > 0 && (isAsked || !isIdle()) ? LINGER_MS : 0;
    const closing = () => http.stop(graceMs - lingerMs, lingerMs, isAsked ? undefined : isIdle);
    await Promise.all([...listeners, listening ? closing() : closeEdges()]);
    await inEffect.close();
    await admin.stop();
    vitals.stop();
  }
  const isIdle = () =>
    [...inEffect.inside.servers.values()].every(({ line }) => line.taken + line.waiting === 0);
  const closeEdges = () => Promise.all([legacy.close(), modern.close()]);

  /** What changes with a config and belongs to no server. */
  function adopt(next: Config, before: Config): void {
    insideOptions.parked.limit(next.parkedCalls);
    // Whoever is known stays the same object as long as nothing about them changes.
    if (!isDeepStrictEqual(next.auth, before.auth)) authentication = authenticationOf(next);
    refused = [];
    metrics.configReloaded(true);
  }

  return {
    failed: requiredServers(inEffect.inside.servers),
    async start() {
      vitals.start();
      const { url: adminUrl } = await admin.start();
      ({ url } = await http.start());
      listening = true;
      return { url, adminUrl };
    },
    stop({ immediate = false } = {}) {
      if (stopping === undefined || immediate) stopping = stop(immediate ? 0 : DRAIN_MS);
      return stopping;
    },
    async stdio(input, output, as) {
      const open = { legacy: (of: Pipe) => legacy.pipe(of), modern: (of: Pipe) => modern.pipe(of) };
      const principal = as === undefined ? ANONYMOUS : principalNamed(as, inEffect.inside.config.auth);
      const pipe = createStdioListener({ input, output, open, detect: eraOfMessage, principal, logger });
      pipes.add(pipe);
      await pipe.done.finally(() => pipes.delete(pipe));
    },
    lists: (kind) => ownLists(inEffect.inside, kind),
    call: (name, args) => ownCall(inEffect.inside, name, args),
    explain: (supposed) => ownExplanation(inEffect.inside, supposed),
    async reload(next) {
      if (listening) checkExposure(config.listen.http, next.auth !== undefined);
      await inEffect.replace(next, adopt);
    },
    reloadFailed(reasons) {
      refused = reasons;
      metrics.configReloaded(false);
    },
  };
}
