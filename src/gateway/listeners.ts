/** Where hosts and operators connect: the HTTP listener, the admin listener, and who may use the first. */
import type { AdminPages } from "../admin/pages.js";
import { type AdminListener, createAdminListener } from "../admin/server.js";
import type { Config } from "../config/config.js";
import { workerSocket } from "../core/worker-identity.js";
import {
  type Authentication,
  createAuthentication,
  NO_AUTHENTICATION,
} from "../downstream/authenticate/authentication.js";
import { createWorkerForwarder } from "../downstream/forward-to-worker.js";
import { createHttpListener, type HttpListener } from "../downstream/http-listener.js";
import type { Edges } from "./edges.js";
import type { OverloadMonitor } from "./overload.js";
import type { GatewayParts, Telemetry } from "./parts.js";
import type { GatewayStatus } from "./status.js";

/** Both listeners of a process. */
export interface Listeners {
  readonly http: HttpListener;
  readonly admin: AdminListener;
}

/** What the listeners serve. */
export interface ListenersOptions {
  readonly parts: GatewayParts;
  readonly edges: Edges;
  readonly authentication: Authentication;
  readonly status: GatewayStatus;
  readonly overload: OverloadMonitor;
  readonly pages: AdminPages;
}

/** Both listeners, not yet bound. A worker binds its admin pages to a socket that only the primary process reads. */
export function createListeners(
  { http: listen, admin }: Config["listen"],
  { parts, edges, authentication, status, overload, pages }: ListenersOptions,
): Listeners {
  const { logger, metrics, redact } = parts.telemetry;
  const { worker } = parts.identity;
  const { pressure, onShed, bodyBudgetBytes } = overload;
  const { gateway, legacy, modern, sse } = edges;
  const readiness = () => status.probe();
  return {
    http: createHttpListener({
      ...{ listen, gateway, modern, legacy, authentication, readiness, logger },
      ...{ pressure, onShed, bodyBudgetBytes },
      ...(listen.legacySse && { sse }),
      ...(worker !== undefined && {
        workers: {
          forwarder: createWorkerForwarder(worker, logger),
          socket: workerSocket(worker, worker.number, "requests"),
        },
      }),
    }),
    admin: createAdminListener({
      ...(worker === undefined
        ? admin
        : { host: "localhost", port: 0, socket: workerSocket(worker, worker.number, "admin") }),
      allowedHosts: listen.allowedHosts,
      ...{ logger, redact, metrics, readiness, pages },
    }),
  };
}

/** The authentication of the config in effect. */
export class LiveAuthentication implements Authentication {
  readonly #telemetry: Telemetry;
  readonly #status: Pick<GatewayStatus, "url">;
  #current: Authentication;

  constructor(auth: Config["auth"], telemetry: Telemetry, status: Pick<GatewayStatus, "url">) {
    this.#telemetry = telemetry;
    this.#status = status;
    this.#current = this.#create(auth);
  }

  /** Applies the credentials of a new config to the requests that come from now on. */
  replace(auth: Config["auth"]): void {
    this.#current = this.#create(auth);
  }

  get isRequired(): boolean {
    return this.#current.isRequired;
  }

  authenticate(request: Parameters<Authentication["authenticate"]>[0]) {
    return this.#current.authenticate(request);
  }

  metadata() {
    return this.#current.metadata();
  }

  readonly challenge: Authentication["challenge"] = (scopes) => this.#current.challenge(scopes);

  #create(auth: Config["auth"]): Authentication {
    if (auth === undefined) return NO_AUTHENTICATION;
    const { logger, metrics } = this.#telemetry;
    return createAuthentication(auth, {
      url: () => this.#status.url ?? "",
      logger,
      onFailure: (reason) => metrics.authFailed(reason),
    });
  }
}
