/** What the process as a whole is short of: memory and time. Whoever takes on work asks here whether it may. */
import type { Logger } from "./core/logger.js";
import type { Pressure, Shed } from "./core/pressure.js";
import { StreamPlaces } from "./downstream/stream-places.js";
import { MemoryPressure } from "./telemetry/memory-pressure.js";
import type { Metrics } from "./telemetry/metrics.js";
import { watchStalls } from "./telemetry/stall-watch.js";

export interface VitalSigns {
  readonly pressure: Pressure;
  /** For the event streams of all edges together. */
  readonly room: StreamPlaces;
  /** How many bytes the bodies of requests under way may have together. */
  readonly heldBodyBytes: number;
  /** Told of everything that is refused because there is too much of it. */
  readonly shed: (what: Shed) => void;
  /** Watches until `stop`. */
  start(): void;
  stop(): void;
}

/** What large requests may take of the heap; parsed they are a few times as large as they came. */
const BODIES = 1 / 8;
const SMALLEST_SUM = 32 * 1024 * 1024;

export function vitalSigns({
  logger,
  metrics,
}: {
  readonly logger: Logger;
  readonly metrics: Metrics;
}): VitalSigns {
  const pressure = new MemoryPressure({ logger });
  const shed = (what: Shed): void => metrics.shed(what);
  let stopWatching = (): void => {};
  metrics.read("overloadLevel", {}, () => pressure.level);
  metrics.read("heapLimit", {}, () => pressure.heapLimit);
  return {
    pressure,
    room: new StreamPlaces({ pressure, shed }),
    heldBodyBytes: Math.max(SMALLEST_SUM, Math.floor(pressure.heapLimit * BODIES)),
    shed,
    start() {
      pressure.start();
      stopWatching = watchStalls((stalledMs) => {
        metrics.stalled();
        logger.warn({ stalledMs }, "the event loop stood still; whatever was due meanwhile comes late");
      });
    },
    stop() {
      stopWatching();
      pressure.stop();
    },
  };
}
