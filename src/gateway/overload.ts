/** Overload protection: memory limit, event loop stalls, and the quota of event streams. */
import { ANONYMOUS, type Principal } from "../core/client.js";
import { type GatewayError, overloaded } from "../core/errors.js";
import type { Logger } from "../core/logger.js";
import { type LoadShedKind, NO_PRESSURE, type Pressure, SHED_LEVELS } from "../core/pressure.js";
import { principalKey } from "../core/principal.js";
import type { StreamQuota } from "../downstream/edge.js";
import { MemoryPressure } from "../runtime/memory-pressure.js";
import type { Metrics } from "../telemetry/metrics.js";

/** Limits that depend on the load of the process. */
export interface OverloadMonitor {
  readonly pressure: Pressure;
  /** The quota of event streams of all edges together. */
  readonly streamQuota: SharedStreamQuota;
  /** The total size of request bodies in memory, in bytes. */
  readonly bodyBudgetBytes: number;
  /** Called for each request refused because of overload. */
  readonly onShed: (what: LoadShedKind) => void;
  start(): void;
  stop(): void;
}

/** Share of the heap limit for request bodies; a parsed body takes several times its size. */
const BODY_SHARE = 1 / 8;
const MIN_BODY_BUDGET = 32 * 1024 * 1024;

/** Registers its gauges in `metrics`; starts measuring with `start`. */
export function createOverloadMonitor({
  logger,
  metrics,
}: {
  readonly logger: Logger;
  readonly metrics: Metrics;
}): OverloadMonitor {
  const pressure = new MemoryPressure({ logger });
  const onShed = (what: LoadShedKind): void => metrics.loadShed(what);
  let stopWatching = (): void => {};
  metrics.gauge("overloadLevel", {}, () => pressure.level);
  metrics.gauge("heapLimit", {}, () => pressure.heapLimit);
  return {
    pressure,
    streamQuota: new SharedStreamQuota({ pressure, onShed }),
    bodyBudgetBytes: Math.max(MIN_BODY_BUDGET, Math.floor(pressure.heapLimit * BODY_SHARE)),
    onShed,
    start() {
      pressure.start();
      stopWatching = watchStalls((stalledMs) => {
        metrics.eventLoopStalled();
        logger.warn({ stalledMs }, "the event loop was blocked; timers are late");
      });
    },
    stop() {
      stopWatching();
      pressure.stop();
    },
  };
}

interface StreamQuotaOptions {
  /** Default 10,000. */
  readonly total?: number;
  /** Default 50. Not applied to the anonymous principal, which all clients without credentials share. */
  readonly perPrincipal?: number;
  readonly pressure?: Pressure;
  readonly onShed?: (what: LoadShedKind) => void;
}

/** The quota of all event streams of one gateway. */
export class SharedStreamQuota implements StreamQuota {
  readonly #options: Required<StreamQuotaOptions>;
  #open = 0;
  readonly #byPrincipal = new Map<string, number>();

  constructor(options: StreamQuotaOptions = {}) {
    this.#options = { total: 10_000, perPrincipal: 50, pressure: NO_PRESSURE, onShed: () => {}, ...options };
  }

  acquire(principal: Principal): () => void {
    const { total, perPrincipal, pressure } = this.#options;
    const id = principalKey(principal);
    const own = this.#byPrincipal.get(id) ?? 0;
    if (pressure.level >= SHED_LEVELS.streams) throw this.#overloaded("memory limit reached: no new streams");
    if (this.#open >= total) throw this.#overloaded(`${total} streams are open (limit of the gateway)`);
    if (own >= perPrincipal && id !== ANONYMOUS.id) {
      throw this.#overloaded(`too many open streams for this principal (limit ${own})`);
    }
    this.#open += 1;
    this.#byPrincipal.set(id, own + 1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#open -= 1;
      const left = (this.#byPrincipal.get(id) ?? 1) - 1;
      if (left > 0) this.#byPrincipal.set(id, left);
      else this.#byPrincipal.delete(id);
    };
  }

  #overloaded(sentence: string): GatewayError {
    this.#options.onShed("streams");
    return overloaded(sentence);
  }
}

const SAMPLE_MS = 250;
/** A sample that is this late (ms) counts as a stall. */
const STALL_MS = 1_000;

/** Calls `stalled` with the duration (ms, up to 250 ms) of each stall, until the returned function is called. */
export function watchStalls(stalled: (ms: number) => void): () => void {
  let due = performance.now() + SAMPLE_MS;
  const timer = setInterval(() => {
    const late = performance.now() - due;
    if (late >= STALL_MS) stalled(Math.round(late));
    due = performance.now() + SAMPLE_MS;
  }, SAMPLE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
