/** Starts, serves stdio, drains and stops the gateway. */
import type { Readable, Writable } from "node:stream";
import type { Principal } from "../core/client.js";
import type { ClusterParts } from "../core/cluster.js";
import type { Logger } from "../core/logger.js";
import { eraOfMessage, type Pipe } from "../downstream/edge.js";
import { createStdioListener, type StdioListener } from "../downstream/stdio-listener.js";
import type { Edges, Listeners } from "./listeners.js";
import type { LiveConfig } from "./live-config.js";
import type { OverloadMonitor } from "./overload.js";
import type { GatewayStatus } from "./status.js";

/** From the start of a stop until running calls are cancelled, in ms. */
const DRAIN_MS = 25_000;
/** The part of it (ms) in which new calls are still accepted, so that a load balancer finds `/readyz` failing first. */
const LINGER_MS = 5_000;

interface LifecycleParts {
  readonly edges: Pick<Edges, "legacy" | "modern">;
  readonly listeners: Listeners;
  readonly liveConfig: LiveConfig;
  readonly status: GatewayStatus;
  readonly overload: OverloadMonitor;
  readonly cluster: ClusterParts | undefined;
  readonly logger: Logger;
}

/** Starts and stops the parts in order. */
export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #pipes = new Set<StdioListener>();
  #stopping: Promise<void> | undefined;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  /** Binds the admin listener, then the HTTP listener. @throws the error of the system, such as EADDRINUSE. */
  async start(): Promise<{ readonly url: string; readonly adminUrl: string }> {
    const { listeners, overload, status, cluster } = this.#parts;
    overload.start();
    const { url: adminUrl } = await listeners.admin.start();
    const { url, peerPort } = await listeners.http.start();
    if (peerPort !== undefined) cluster?.start(peerPort);
    status.url = url;
    return { url, adminUrl };
  }

  async stdio(input: Readable, output: Writable, principal: Principal): Promise<void> {
    const { edges, logger } = this.#parts;
    const openEdge = {
      legacy: (pipe: Pipe) => edges.legacy.pipe(pipe),
      modern: (pipe: Pipe) => edges.modern.pipe(pipe),
    };
    const pipe = createStdioListener({ input, output, openEdge, detect: eraOfMessage, principal, logger });
    this.#pipes.add(pipe);
    await pipe.done.finally(() => this.#pipes.delete(pipe));
  }

  /** Drains for at most DRAIN_MS, or not at all if `immediate`, and stops. */
  stop(immediate: boolean): Promise<void> {
    if (this.#stopping === undefined || immediate) this.#stopping = this.#stop(immediate ? 0 : DRAIN_MS);
    return this.#stopping;
  }

  async #stop(graceMs: number): Promise<void> {
    const { edges, listeners, liveConfig, status, overload, cluster } = this.#parts;
    status.isDraining = true;
    cluster?.leave();
    liveConfig.stopWaiting();
    const pipes = [...this.#pipes].map((pipe) => pipe.stop(graceMs));
    const { isProbed } = status;
    const isIdle = () => liveConfig.isIdle;
    const lingerMs = graceMs > 0 && (isProbed || !isIdle()) ? LINGER_MS : 0;
    const closing =
      status.url === undefined
        ? Promise.all([edges.legacy.close(), edges.modern.close()])
        : listeners.http.stop(graceMs - lingerMs, lingerMs, isProbed ? undefined : isIdle);
    await Promise.all([...pipes, closing]);
    await Promise.all([liveConfig.close(), cluster?.close()]);
    await listeners.admin.stop();
    overload.stop();
  }
}
