/** What the process as a whole is short of: memory and time. Whoever takes on work asks here whether it may. */
import type { Logger } from "../core/logger.js";
import type { LoadShedKind, Pressure } from "../core/pressure.js";
import { SharedStreamQuota } from "../downstream/stream-quota.js";
import { MemoryPressure } from "../runtime/memory-pressure.js";
import { watchStalls } from "../runtime/stall-watch.js";
import type { Metrics } from "../telemetry/metrics.js";

export interface OverloadMonitor {
  readonly pressure: Pressure;
  /** For the event streams of all edges together. */
  readonly streamQuota: SharedStreamQuota;
  /** How many bytes the bodies of requests under way may have together. */
  readonly bodyBudgetBytes: number;
  /** Told of everything that is refused because there is too much of it. */
  readonly onShed: (what: LoadShedKind) => void;
  /** Watches until `stop`. */
  start(): void;
  stop(): void;
}

/** What large requests may take of the heap; parsed they are a few times as large as they came. */
const BODY_SHARE = 1 / 8;
const MIN_BODY_BUDGET = 32 * 1024 * 1024;

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
        logger.warn({ stalledMs }, "the event loop stood still; whatever was due meanwhile comes late");
      });
    },
    stop() {
      stopWatching();
      pressure.stop();
    },
  };
}
