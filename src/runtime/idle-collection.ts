/**
 * Gives back memory that was needed once. V8 keeps the room for young objects as large as it ever was, and collects
 * nothing while nothing happens, so a gateway at rest would hold 20 to 30 MiB for as long as it lives.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Logger } from "../core/logger.js";

/** How often it looks, in ms. */
const SAMPLE_MS = 500;
/** The process is at rest when its event loop was busy for no more than this share of the time between two looks. */
const IDLE_UTILIZATION = 0.05;
/**
 * V8 makes the room smaller at a collection before which little was allocated for 5 s. So the young objects are
 * collected after so many looks at rest, and again after so many more, as long as it is not yet over. Not at the first
 * look: who works a little every second would pay for a collection every second.
 */
const FIRST_MINOR_SAMPLE = 4;
const MINOR_INTERVAL_SAMPLES = 12;
/**
 * After so many looks at rest everything is collected once, where calls came before there was a chance to. Not at the
 * first: V8 forgets with it what it has learned of the code, and for half a second calls take three times as long.
 */
const MAJOR_AFTER_SAMPLES = 60;
/** So much room for young objects, in bytes, is worth no collection. */
const MIN_YOUNG_BYTES = 8 * 1024 * 1024;

/** What can be collected. */
export interface GarbageCollector {
  /** Everything, which takes V8 2 to 3 ms per MiB of objects that are still needed. */
  readonly major: () => Promise<void>;
  /** What is young: a few ms, however many objects there are. */
  readonly minor: () => void;
  /** What V8 holds for young objects, in bytes. */
  readonly youngSpaceBytes: () => number;
}

/**
 * Collects everything once, when the start is over, and otherwise what is young whenever the process has come to rest.
 * Call what it returns to end that.
 * @param isUnused whether no call has come so far
 */
export function collectWhenIdle(
  logger: Logger,
  isUnused: () => boolean,
  collector: GarbageCollector = V8_COLLECTOR,
): () => void {
  let before = performance.eventLoopUtilization();
  let allIsDue = true;
  let quietLooks = 0;
  const failed = (error: unknown): void => logger.debug({ error }, "memory could not be given back");
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > IDLE_UTILIZATION) {
      quietLooks = 0;
      return;
    }
    quietLooks += 1;
    const isTime = quietLooks % MINOR_INTERVAL_SAMPLES === FIRST_MINOR_SAMPLE;
    if (allIsDue && (quietLooks >= MAJOR_AFTER_SAMPLES || isUnused())) {
      allIsDue = false;
      quietLooks = 0;
      collector.major().catch(failed);
    } else if (isTime && collector.youngSpaceBytes() > MIN_YOUNG_BYTES) {
      collector.minor();
    }
  }, SAMPLE_MS);
  timer.unref();
  return () => clearInterval(timer);
}

export const V8_COLLECTOR: GarbageCollector = {
  /** What DevTools does when somebody clicks on the waste bin. */
  async major() {
    const { Session } = await import("node:inspector/promises");
    const session = new Session();
    session.connect();
    try {
      await session.post("HeapProfiler.collectGarbage");
    } finally {
      session.disconnect();
    }
  },
  minor() {
    gc ??= exposedGc();
    gc({ type: "minor" });
  },
  youngSpaceBytes: () =>
    getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? 0,
};

let gc: NodeJS.GCFunction | undefined;

/** Only what is made while the flag is there has the function, so nobody else gets it. */
function exposedGc(): NodeJS.GCFunction {
  setFlagsFromString("--expose-gc");
  try {
    return runInNewContext("gc") as NodeJS.GCFunction;
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}
