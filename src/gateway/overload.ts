/** Whether the process is overloaded: short of memory, or its event loop stalls. */
import type { Logger } from "../core/logger.js";
import type { LoadShedKind, Pressure } from "../core/pressure.js";
import { SharedStreamQuota } from "../downstream/stream-quota.js";
import { MemoryPressure } from "../runtime/memory-pressure.js";
import { watchStalls } from "../runtime/stall-watch.js";
import type { Metrics } from "../telemetry/metrics.js";

/** The limits that depend on the load of the process. */
export interface OverloadMonitor {
  readonly pressure: Pressure;
  /** For the event streams of all edges together. */
  readonly streamQuota: SharedStreamQuota;
  /** The sum of the sizes of all request bodies in memory, in bytes. */
  readonly bodyBudgetBytes: number;
  /** Called for everything that is refused because of overload. */
  readonly onShed: (what: LoadShedKind) => void;
  /** Watches until `stop`. */
  start(): void;
  stop(): void;
}

/** Share of the heap limit for request bodies; parsed, a body takes several times its size. */
const BODY_SHARE = 1 / 8;
const MIN_BODY_BUDGET = 32 * 1024 * 1024;

/** Registers its gauges in `metrics`; measures from `start` on. */
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
        logger.warn({ stalledMs }, "the event loop stalled; everything that was due meanwhile is late");
      });
    },
    stop() {
      stopWatching();
      pressure.stop();
    },
  };
}
