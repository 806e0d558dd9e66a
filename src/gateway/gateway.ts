/**
 * Wires the parts of the gateway. A host's message enters through a listener and the edge of its era, passes the
 * pipeline of the live config, and leaves through one of its servers.
 */

import type { Readable, Writable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import type { Config } from "../config/config.js";
import type { Reply } from "../core/call.js";
import { ANONYMOUS } from "../core/client.js";
import type { GatewayError } from "../core/errors.js";
import type { ListKind } from "../core/lists.js";
import type { StopSignal } from "../core/stop.js";
import { principalNamed } from "../downstream/authenticate/authentication.js";
import { checkExposure } from "../downstream/http-listener.js";
import { clientAddress } from "../http/client-address.js";
import type { JsonObject } from "../wire/json.js";
import { Lifecycle } from "./lifecycle.js";
import { createEdges, createHostListener } from "./listeners.js";
import { LiveAuthentication, LiveConfig } from "./live-config.js";
import { createOverloadMonitor } from "./overload.js";
import { createParts, type GatewayOptions, type GatewayParts } from "./parts.js";
import type { Pipeline } from "./pipeline.js";
import { GatewayStatus, requiredServers } from "./status.js";
import {
  type CliList,
  cliCall,
  cliExplain,
  cliLists,
  cliPage,
  type ListQuery,
  missingServers,
  type OnServer,
  type OwnLists,
  ownLists,
  type ServerOutcome,
} from "./views/cli-calls.js";
import type { ExplainQuery, PrincipalQuery } from "./views/explain.js";

/** Where a gateway listens, and which servers are still starting. */
interface Bound {
  readonly url: string;
  /** Of the listener for operators; undefined if no feature has one. */
  readonly adminUrl: string | undefined;
  readonly starting: readonly string[];
}

/** A running gateway, as the command line uses it. */
export interface Gateway {
  /** Binds the listeners without waiting for any server. @throws the error of the system, such as EADDRINUSE. */
  start(): Promise<Bound>;
  /** Resolves when a `required` server could not be connected after the start; otherwise never. */
  readonly failed: Promise<GatewayError>;
  /**
   * Drains and stops. `/readyz` fails at once. New calls are accepted for up to 5 s while a load balancer polls
   * `/readyz` or calls are running. After 25 s in total, or immediately if `immediate`, calls that have not ended
   * get `outcome_unknown`, and all connections are closed.
   */
  stop(options?: { readonly immediate?: boolean }): Promise<void>;
  /** Whether the stop ended calls that had not ended in time. */
  hasCutOff(): boolean;
  /** Serves the host on the pipe until the input ends; `as` is the id of its principal. Default: anonymous. */
  stdio(input: Readable, output: Writable, as?: string): Promise<void>;
  /**
   * What a host lists, with the server of each entry, after the first start of every server; `onServer` is called with
   * each.
   *
   * @throws UnknownEndpoint for a URL that does not exist
   */
  lists(kind: ListKind, query?: ListQuery, onServer?: OnServer): Promise<CliList>;
  /** Calls a tool by the name a host would use; `as` is the principal, by default a host without credentials. */
  call(name: string, args: JsonObject, onServer?: OnServer, as?: PrincipalQuery): Promise<Reply>;
  /** Whether a call would be allowed, and by which rule; no server receives it. */
  explain(query: ExplainQuery, onServer?: OnServer): ReturnType<typeof cliExplain>;
  /** A page of the admin API that a feature adds, by its path after `/api/v1/`. @throws BadQuery */
  page(path: string, query?: URLSearchParams, onServer?: OnServer): Promise<unknown>;
  /**
   * What each server lists under its own names, after its first start; a server whose lists are unknown is missing.
   *
   * @throws GatewayError if a `required` server cannot be connected
   */
  ownLists(signal: StopSignal): Promise<OwnLists>;
  /** The servers that have finished their first start and are not connected or could not list. */
  missing(): Promise<readonly ServerOutcome[]>;
  /** Applies a new config as a whole. @throws if that is not possible; the old one stays live. */
  reload(config: Config): Promise<void>;
  /** Whether no call has been made yet. */
  isUnused(): boolean;
  /** Records what of the live config matches nothing, a sentence each, for the page of problems. */
  foundIneffective(sentences: readonly string[]): void;
  /** Records that a new config was refused, for the metric and the readiness page. */
  reloadFailed(reasons: readonly string[]): void;
  /** The servers that are still starting, whose tools are not in the lists yet. */
  starting(): readonly string[];
}

/** Builds a gateway and starts its servers; it listens after `start`. */
export function createGateway(config: Config, options: GatewayOptions): Gateway {
  const parts = createParts(config, options);
  const { telemetry, features, callIds } = parts;
  const { logger, metrics, liveCalls } = telemetry;
  const pipeline = () => liveConfig.pipeline;
  features.attach({
    pipeline,
    config: () => pipeline().config,
    url: () => status.url,
    operatorUrl: () => (parts.identity.member === undefined ? status.operatorUrl : undefined),
    store: features.shared?.store,
    replica: parts.replica,
    messages: parts.replica?.messages ?? parts.identity.member?.messages,
    issuer: parts.identity.issuer,
    answerMs: parts.sealed.answerMs,
    connectedClients: () => parts.sessions.directory.connected(),
    onClientConnected: (listener) => parts.sessions.directory.onConnected(listener),
    enterQueue: (server) => metrics.enterQueue(server),
    approvalWaited: (server, seconds) => metrics.inputWaited({ server, kind: "approval", seconds }),
    toolCalls: (server) => metrics.calls.toolCalls(server),
  });
  const overload = createOverloadMonitor({ logger, metrics });
  const liveConfig = new LiveConfig(config, parts);
  const edges = createEdges(liveConfig, parts, overload.streamQuota);
  const status = new GatewayStatus(
    () => liveConfig.pipeline.servers,
    telemetry.redact,
    () => liveConfig.pipeline.catalog.starting(),
    () => features.problems(),
  );
  const addressOf = clientAddress(config.listen.http.trustedProxies);
  const { tokenIssuer } = features;
  const authentication = new LiveAuthentication(config.auth, parts, status, tokenIssuer, addressOf);
  const { listen } = config;
  const operators = features.operatorListener({
    ...{ listen, parts, liveConfig, edges, status, overload, authentication },
    ownerToken: options.ownerToken,
  });
  const http = createHostListener({
    ...{ listen: listen.http, parts, edges, authentication, status, overload },
  });
  const lifecycle = new Lifecycle({
    edges,
    listeners: { http, operators },
    liveConfig,
    status,
    overload,
    logger,
    running: liveCalls.running,
    replica: parts.replica,
  });

  return {
    failed: requiredServers(liveConfig.pipeline.servers),
    start: async () => ({ ...(await lifecycle.start()), starting: status.starting }),
    async stop({ immediate = false } = {}) {
      features.stopping();
      await lifecycle.stop(immediate);
      await Promise.all([features.close({ isImmediate: immediate }), options.sessionFiles?.close()]);
    },
    async stdio(input, output, as) {
      const { auth } = liveConfig.pipeline.config;
      await lifecycle.stdio(input, output, as === undefined ? ANONYMOUS : principalNamed(as, auth));
    },
    ...commandsOf(parts, pipeline),
    ...reloadsOf(config, { parts, liveConfig, authentication, status, operators }),
    starting: () => status.starting,
    hasCutOff: () => lifecycle.hasCutOff,
    isUnused: () => callIds.count === 0,
  };
}

/** What commands ask of a gateway. */
const commandsOf = (
  { features, callIds }: GatewayParts,
  pipeline: () => Pipeline,
): Pick<Gateway, "lists" | "call" | "explain" | "page" | "missing" | "ownLists"> => ({
  ownLists: (signal) => ownLists(pipeline, signal),
  lists: (kind, query, onServer) => cliLists(pipeline, kind, { ...query, onServer }),
  call: (name, args, onServer, as) => cliCall(pipeline, callIds.next(), { name, args, onServer, as }),
  explain: (query, onServer) => cliExplain(pipeline, query, { onServer }),
  page: (path, query, onServer) => cliPage(pipeline, features.pages, { path, query, onServer }),
  missing: async () => missingServers(pipeline()),
});

/** What takes over a config. */
interface Reloadable {
  readonly parts: GatewayParts;
  readonly liveConfig: LiveConfig;
  readonly authentication: LiveAuthentication;
  readonly status: GatewayStatus;
  readonly operators: ReturnType<GatewayParts["features"]["operatorListener"]>;
}

function reloadsOf(
  first: Config,
  { parts, liveConfig, authentication, status, operators }: Reloadable,
): Pick<Gateway, "reload" | "reloadFailed" | "foundIneffective"> {
  const { features, sessions } = parts;
  const { metrics } = parts.telemetry;
  return {
    async reload(next) {
      if (status.url !== undefined) checkExposure(first.listen.http, next.auth !== undefined);
      await liveConfig.replace(next, (_, before) => {
        features.emit?.({
          kind: "reload",
          outcome: "ok",
          arguments: { before: before.digest ?? null, after: next.digest ?? null },
        });
        sessions.parkedCalls.limit(next.parkedCalls);
        // An unchanged authentication keeps its principal objects, which other parts use as keys.
        if (!isDeepStrictEqual(next.auth, before.auth)) authentication.replace(next.auth);
        operators?.reloaded();
        status.reloadErrors = [];
        status.ineffective = [];
        metrics.configReloaded(true);
      });
    },
    foundIneffective(sentences) {
      status.ineffective = sentences;
    },
    reloadFailed(reasons) {
      status.reloadErrors = reasons;
      const { digest: before = null } = liveConfig.pipeline.config;
      features.emit?.({ kind: "reload", outcome: "refused", arguments: { before } });
      metrics.configReloaded(false);
    },
  };
}
