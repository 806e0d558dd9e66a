/**
 * When is garbage collected in an idle process? V8 does not shrink its young generation and collects nothing while idle,
 * so an idle gateway would keep 20 to 30 MiB for as long as it runs.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Logger } from "../core/logger.js";

const SAMPLE_MS = 500;
/** The process is idle when the event loop utilization of a sample is at most this. */
const IDLE_UTILIZATION = 0.05;
/**
 * V8 shrinks the young generation at a collection before which little was allocated for 5 s. So a minor collection runs
 * after FIRST_MINOR_SAMPLE idle samples, and again every MINOR_INTERVAL_SAMPLES. Not at the first idle sample, or a
 * process with little work every second would collect every second.
 */
const FIRST_MINOR_SAMPLE = 4;
const MINOR_INTERVAL_SAMPLES = 12;
/**
 * After this many idle samples one major collection runs, unless it ran before the first call. Not earlier: V8 drops
 * optimized code with it, and calls take three times as long for half a second.
 */
const MAJOR_AFTER_SAMPLES = 60;
/** A young generation up to this size (bytes) is not collected. */
const MIN_YOUNG_BYTES = 8 * 1024 * 1024;

/** The collections of V8. */
export interface GarbageCollector {
  /** A full collection: 2 to 3 ms per MiB of live objects. */
  readonly major: () => Promise<void>;
  /** A collection of the young generation: a few ms. */
  readonly minor: () => void;
  readonly youngSpaceBytes: () => number;
}

/**
 * Runs one major collection after the start, and minor ones when the process is idle. The returned function stops it.
 * @param isUnused whether there was no call so far
 */
export function collectWhenIdle(
  logger: Logger,
  isUnused: () => boolean,
  collector: GarbageCollector = V8_COLLECTOR,
): () => void {
  let before = performance.eventLoopUtilization();
  let majorIsDue = true;
  let idleSamples = 0;
  const failed = (error: unknown): void => logger.debug({ error }, "the idle garbage collection failed");
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    if (utilization > IDLE_UTILIZATION) {
      idleSamples = 0;
      return;
    }
    idleSamples += 1;
    const minorIsDue = idleSamples % MINOR_INTERVAL_SAMPLES === FIRST_MINOR_SAMPLE;
    if (majorIsDue && (idleSamples >= MAJOR_AFTER_SAMPLES || isUnused())) {
      majorIsDue = false;
      idleSamples = 0;
      collector.major().catch(failed);
    } else if (minorIsDue && collector.youngSpaceBytes() > MIN_YOUNG_BYTES) {
      collector.minor();
    }
  }, SAMPLE_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** The collector of this process. */
export const V8_COLLECTOR: GarbageCollector = {
  /** The "collect garbage" button of DevTools. */
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

/** `gc` exists only in contexts created while the flag is set, so no other code gets it. */
function exposedGc(): NodeJS.GCFunction {
  setFlagsFromString("--expose-gc");
  try {
    return runInNewContext("gc") as NodeJS.GCFunction;
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}
