/** The live config: what edges see of it, and its atomic replacement without interruption. */

import type { Config } from "../config/config.js";
import type { Handler } from "../core/call.js";
import { ANONYMOUS, type Client } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import type { ChangeFeed, GatewayApi } from "../core/gateway-api.js";
import { withTimeout } from "../core/stop.js";
import { withoutBaggage } from "../core/trace-context.js";
import {
  type Authentication,
  createAuthentication,
  NO_AUTHENTICATION,
  type TokenIssuer,
} from "../downstream/authenticate/authentication.js";
import type { ClientAddress } from "../http/client-address.js";
import { followTasks } from "../routing/task-notifications.js";
import { cooperativeYield } from "../runtime/cooperative-yield.js";
import { HostHeaderSets } from "./host-header-sets.js";
import { refusalAt } from "./misconfigured-server.js";
import type { GatewayParts } from "./parts.js";
import { createPipeline, type Pipeline } from "./pipeline.js";
import type { ConfigInEffect, EvaluateQuestion } from "./server-runtime.js";
import type { GatewayStatus } from "./status.js";

/** The client of commands such as `cardea call`. It declares no capabilities, so servers cannot send it questions. */
export const CLI_CLIENT: Client = {
  principal: ANONYMOUS,
  affinity: "command line",
  session: false,
  endpoint: "",
  capabilities: {},
};

/** The client of pages and actions of the admin API: sees all that no rule hides from a host without capabilities. */
export const OPERATOR_CLIENT: Client = { ...CLI_CLIENT, affinity: "operator" };

/** A config, or a function of the live config at its turn. */
type NextConfig = Config | ((current: Config) => Config);

/** Holds the pipeline of the live config. */
export class LiveConfig implements ConfigInEffect {
  readonly #parts: GatewayParts;
  #pipeline: Pipeline;
  #replacing: Promise<void> = Promise.resolve();
  /** The gateway drains or has stopped. */
  #isStopping = false;

  /** Builds the pipeline of `config`, and starts its servers. */
  constructor(config: Config, parts: GatewayParts) {
    this.#parts = parts;
    this.#pipeline = createPipeline(config, parts, this);
  }

  get pipeline(): Pipeline {
    return this.#pipeline;
  }

  /** The same object across config changes. */
  get changes(): ChangeFeed {
    return this.#pipeline.catalog.changes;
  }

  readonly evaluateQuestion: EvaluateQuestion = (server, client, question) =>
    this.#pipeline.evaluateQuestion(server, client, question);

  readonly redactionOutsideCalls: ConfigInEffect["redactionOutsideCalls"] = (server, client) =>
    this.#pipeline.redactionOutsideCalls(server, client);

  readonly route: Handler = (call) => this.#pipeline.route(call);

  readonly isAggregated = (): boolean => this.#pipeline.config.servers.length > 1;

  /** Whether no server runs a call or has one queued. */
  get isIdle(): boolean {
    return [...this.#pipeline.servers.values()].every(
      ({ semaphore }) => semaphore.running + semaphore.queued === 0,
    );
  }

  /**
   * Applies `next` and then calls `adopt`; concurrent replacements run in sequence. Servers with an unchanged config
   * keep running, and running calls finish in the pipeline in which they started.
   *
   * @throws Error while the gateway stops; and errors of `createPipeline`
   */
  replace(next: NextConfig, adopt: (next: Config, before: Config) => void): Promise<void> {
    this.#replacing = this.#replacing.catch(() => {}).then(() => this.#replace(next, adopt));
    return this.#replacing;
  }

  /**
   * Lists and calls that wait for starting servers are answered with the available lists; no further config is applied.
   */
  stopWaiting(): void {
    this.#isStopping = true;
    this.#pipeline.catalog.stopWaiting();
  }

  /** Stops every server, after a running replacement. */
  async close(): Promise<void> {
    this.#isStopping = true;
    await this.#replacing.catch(() => {});
    this.#pipeline.catalog.close();
    const servers = [...this.#pipeline.servers.values()].map((server) => server.close());
    const { draining } = this.#parts.processes;
    await Promise.all([...servers, draining.close()]);
  }

  async #replace(wanted: NextConfig, adopt: (next: Config, before: Config) => void): Promise<void> {
    if (this.#isStopping) throw new Error("the gateway is stopping and takes no other config");
    const before = this.#pipeline;
    const next = typeof wanted === "function" ? wanted(before.config) : wanted;
    // A large config was read in this turn of the event loop; long lists are merged in one of their own.
    await cooperativeYield();
    const built = createPipeline(next, this.#parts, this, before);
    // Hosts use the old catalog until the new one has the lists of new servers.
    await built.catalog.prepare(CLI_CLIENT);
    await cooperativeYield();
    if (this.#isStopping) built.catalog.stopWaiting();
    this.#pipeline = built;
    adopt(next, before.config);
    built.catalog.goLive();
    before.catalog.close();
    for (const [name, server] of before.servers) {
      if (built.servers.get(name)?.upstream !== server.upstream) this.#parts.processes.draining.drain(server);
    }
  }
}

/**
 * How long (ms) `initialize` waits for the first connection attempt to the only server that a host sees. Some hosts
 * allow 10 s for its response; a slower server is treated like one of several.
 */
const CONNECT_WAIT_MS = 5_000;
/**
 * How long (ms) `initialize` and `server/discover` wait for capabilities and instructions, which a legacy host reads
 * only once: the start time of a local server. They do not wait for `startupWait`.
 */
const DESCRIBE_WAIT_MS = 750;

/** Reads the live config at each call. */
export function createGatewayApi(
  liveConfig: LiveConfig,
  { identity, telemetry, callIds }: GatewayParts,
): GatewayApi {
  const { logger, redact } = telemetry;
  const handle: GatewayApi["handle"] = (call) => liveConfig.pipeline.handle(call);
  const headerSets = new HostHeaderSets();
  const upstreamOf = (server: string) => liveConfig.pipeline.servers.get(server)?.upstream;
  return {
    handle,
    nextCallId: () => callIds.next(),
    changes: liveConfig.changes,
    async describe(client) {
      const { catalog, servers } = liveConfig.pipeline;
      const refusal = refusalAt(servers, client.endpoint);
      if (refusal !== undefined) throw refusal;
      await withTimeout(DESCRIBE_WAIT_MS, catalog.prepare(client));
      return { ...catalog.describe(client), instance: identity.instance };
    },
    async requireServer(client) {
      const [only, second] = liveConfig.pipeline.catalog.view(client).endpoint.namespaces;
      const upstream = second === undefined && only ? upstreamOf(only.name) : undefined;
      if (upstream === undefined || upstream.facts !== undefined) return;
      // With its own names a single server is presented as itself, which is worth a longer wait.
      const waitMs = only?.prefix === "" ? CONNECT_WAIT_MS : DESCRIBE_WAIT_MS;
      await withTimeout(waitMs, upstream.connectNow?.() ?? Promise.resolve());
      const { name, lastError, state } = upstream;
      // A refused call names the sign-in page; an unauthenticated host makes no calls.
      if (upstream.facts !== undefined || lastError === undefined || state === "needs_sign_in") return;
      throw new GatewayError("upstream_unavailable", "upstream", redact(lastError), {
        server: name,
        retryable: state !== "misconfigured",
      });
    },
    tool: (client, name) => liveConfig.pipeline.catalog.toolEntry(client, name),
    followTasks(client, handles, listener) {
      const { catalog, servers, tasks } = liveConfig.pipeline;
      const upstream = (server: string) => servers.get(server)?.upstream;
      return followTasks({ tasks, catalog, upstream, handle, callIds, logger }, client, handles, listener);
    },
    withHeaders: (principal, headers) =>
      headerSets.principalWith(liveConfig.pipeline.config, principal, headers),
    headerNames: () => headerSets.names(liveConfig.pipeline.config),
    hasEndpoint: (name, principal) => liveConfig.pipeline.catalog.hasEndpoint(name, principal),
    forwardNotification(client, notice) {
      const { catalog, config } = liveConfig.pipeline;
      const { params } = notice;
      const sent =
        params === undefined || config.telemetry?.forwardsBaggage === true
          ? notice
          : { ...notice, params: withoutBaggage(params) };
      for (const server of catalog.reachable(client, notice.method)) {
        upstreamOf(server)?.forwardNotification?.(client, sent);
      }
    },
    releaseClient(affinity) {
      const { catalog, servers, features } = liveConfig.pipeline;
      features.releaseClient(affinity);
      catalog.releaseClient(affinity);
      for (const { upstream } of servers.values()) upstream.releaseClient(affinity);
    },
  };
}

/** The authentication of the live config. */
export class LiveAuthentication implements Authentication {
  readonly #parts: Pick<GatewayParts, "telemetry" | "sessions">;
  readonly #status: Pick<GatewayStatus, "url">;
  readonly #tokenIssuer: TokenIssuer | undefined;
  readonly #addressOf: ClientAddress;
  #current: Authentication;

  constructor(
    auth: Config["auth"],
    parts: Pick<GatewayParts, "telemetry" | "sessions">,
    status: Pick<GatewayStatus, "url">,
    tokenIssuer: TokenIssuer | undefined,
    addressOf: ClientAddress,
  ) {
    this.#addressOf = addressOf;
    this.#parts = parts;
    this.#status = status;
    this.#tokenIssuer = tokenIssuer;
    this.#current = this.#create(auth);
  }

  /** Applies the credentials of a new config to subsequent requests. */
  replace(auth: Config["auth"]): void {
    this.#current = this.#create(auth);
  }

  get isRequired(): boolean {
    return this.#current.isRequired;
  }

  authenticate(request: Parameters<Authentication["authenticate"]>[0], place?: string) {
    return this.#current.authenticate(request, place);
  }

  metadata(place?: string) {
    return this.#current.metadata(place);
  }

  readonly challenge: Authentication["challenge"] = (scopes, place) => this.#current.challenge(scopes, place);

  #create(auth: Config["auth"]): Authentication {
    if (auth === undefined) return NO_AUTHENTICATION;
    const { logger, metrics } = this.#parts.telemetry;
    const { principals } = this.#parts.sessions;
    return createAuthentication(auth, {
      url: () => this.#status.url ?? "",
      logger,
      addressOf: this.#addressOf,
      ...(auth.signIn !== undefined &&
        this.#tokenIssuer !== undefined && { authorizationServer: this.#tokenIssuer }),
      onFailure: (reason) => metrics.authFailed(reason),
      onToken: (principal) => principals.seen(principal),
    });
  }
}
