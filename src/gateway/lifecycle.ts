/** Starts, serves stdio, drains and stops the gateway. */
import type { Readable, Writable } from "node:stream";
import type { Principal } from "../core/client.js";
import { GatewayError } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import type { ReplicaParts } from "../core/replicas.js";
import { CUT_OFF_MS, eraOfMessage, type Pipe } from "../downstream/edge.js";
import { createStdioListener, type StdioListener } from "../downstream/stdio-listener.js";
import type { RunningCalls } from "../telemetry/live-calls.js";
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
  readonly running: RunningCalls;
  readonly replica: ReplicaParts | undefined;
  readonly logger: Logger;
}

/** Starts and stops the parts in order. */
export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #pipes = new Set<StdioListener>();
  #stopping: Promise<void> | undefined;
  #hasCutOff = false;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  /** Binds the listener for operators, then that for hosts. @throws the error of the system, such as EADDRINUSE. */
  async start(): Promise<{ readonly url: string; readonly adminUrl: string | undefined }> {
    const { listeners, overload, status, replica } = this.#parts;
    overload.start();
    const operators = await listeners.operators?.start();
    const { url, peerPort } = await listeners.http.start();
    // Before a load balancer sends hosts: their sessions must be found by the other replicas.
    if (peerPort !== undefined) await replica?.start(peerPort);
    status.url = url;
    status.operatorUrl = operators?.url;
    return { url, adminUrl: operators?.url };
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

  /**
   * Drains for at most DRAIN_MS, or not at all if `immediate`, and stops. Calls that have not ended by then get
   * `outcome_unknown`.
   */
  stop(immediate: boolean): Promise<void> {
    if (this.#stopping === undefined || immediate) this.#stopping = this.#stop(immediate ? 0 : DRAIN_MS);
    return this.#stopping;
  }

  /** Whether a stop has ended calls that had not ended in time. */
  get hasCutOff(): boolean {
    return this.#hasCutOff;
  }

  async #stop(drainMs: number): Promise<void> {
    const { edges, listeners, liveConfig, status, overload, running, replica } = this.#parts;
    // Hosts of running calls are sent an error, and it takes a moment to write.
    const graceMs = Math.max(drainMs, running.size > 0 ? CUT_OFF_MS : 0);
    const cutOff = (): void => {
      this.#hasCutOff ||= running.size > 0;
      running.cancelAll(stopped());
    };
    const cut = graceMs > CUT_OFF_MS ? setTimeout(cutOff, graceMs - CUT_OFF_MS) : undefined;
    if (cut === undefined) cutOff();
    status.isDraining = true;
    const left = replica?.leave();
    liveConfig.stopWaiting();
    const pipes = [...this.#pipes].map((pipe) => pipe.stop(graceMs));
    const { isProbed } = status;
    const isIdle = () => liveConfig.isIdle;
    const lingerMs = drainMs > 0 && (isProbed || !isIdle()) ? LINGER_MS : 0;
    const closing =
      status.url === undefined
        ? Promise.all([edges.legacy.close(), edges.modern.close()])
        : listeners.http.stop(
            graceMs - lingerMs,
            lingerMs,
            isProbed ? undefined : isIdle,
            drainMs > 0 ? left : undefined,
          );
    await Promise.all([...pipes, closing]);
    clearTimeout(cut);
    await Promise.all([liveConfig.close(), replica?.close()]);
    await listeners.operators?.stop();
    overload.stop();
  }
}

const stopped = (): GatewayError =>
  new GatewayError("outcome_unknown", "gateway", "the gateway was stopped before the server answered");
