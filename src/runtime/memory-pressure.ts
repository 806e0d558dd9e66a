/** How high is the memory pressure of the process? Heap and RSS are sampled against their limits. */
import { totalmem } from "node:os";
import { PerformanceObserver, constants as performanceConstants } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";
import type { Logger } from "../core/logger.js";
import type { Pressure, PressureLevel } from "../core/pressure.js";

/** Shares of the limit at which each level begins, as in Envoy's overload manager. */
const THRESHOLDS = [0.92, 0.95, 0.98] as const;
/** A level ends this share below its threshold, so that it does not flap with every collection. */
const HYSTERESIS = 0.02;
const SAMPLE_MS = 250;

/** One sample; sizes in bytes. */
export interface MemoryReading {
  /** Used by the old generation; when that is full, the process is out of memory. */
  readonly heapUsed: number;
  /** The limit of the old generation. */
  readonly heapLimit: number;
  readonly rss: number;
  /** The limit of the container, or the memory of the machine. */
  readonly rssLimit: number;
  /** Major collections so far. */
  readonly collections: number;
}

/** The log, and where samples come from. */
export interface MemoryPressureOptions {
  readonly logger: Logger;
  /** Default: this process. */
  readonly read?: () => MemoryReading;
}

const LEVEL_MESSAGES: Readonly<Record<PressureLevel, string>> = {
  0: "memory pressure is over: all requests are served",
  1: "memory pressure: new streams are refused, and connections are not kept alive",
  2: "memory pressure: new calls are refused as well",
  3: "memory pressure: new connections are refused as well",
};

/** Samples memory every 250 ms between `start` and `stop`, and logs changes of level. */
export class MemoryPressure implements Pressure {
  readonly #logger: Logger;
  readonly #read: () => MemoryReading;
  readonly #collections = new CollectionCount();
  #timer: NodeJS.Timeout | undefined;
  #level: PressureLevel = 0;
  #lastCollections = 0;
  /** Upper bound of live bytes since the last major collection; later allocations may be garbage and do not count. */
  #live = 0;

  constructor({ logger, read }: MemoryPressureOptions) {
    this.#logger = logger;
    this.#read = read ?? (() => readProcess(this.#collections.count));
  }

  get level(): PressureLevel {
    return this.#level;
  }

  /** In bytes. */
  get heapLimit(): number {
    return this.#read().heapLimit;
  }

  /** Samples now, and repeatedly until `stop`. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#collections.start();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS);
    this.#timer.unref();
    this.#sample();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#collections.stop();
  }

  #sample(): void {
    const { heapUsed, heapLimit, rss, rssLimit, collections } = this.#read();
    this.#live = collections === this.#lastCollections ? Math.min(this.#live, heapUsed) : heapUsed;
    this.#lastCollections = collections;
    const share = Math.max(this.#live / heapLimit, rss / rssLimit);
    const level = levelFor(share, this.#level);
    if (level === this.#level) return;
    const worse = level > this.#level;
    this.#level = level;
    const facts = { level, memory: `${Math.round(share * 100)} %` };
    this.#logger[worse ? "warn" : "info"](facts, LEVEL_MESSAGES[level]);
  }
}

function levelFor(share: number, now: PressureLevel): PressureLevel {
  const reached = THRESHOLDS.filter(
    (begin, index) => share >= (index < now ? begin - HYSTERESIS : begin),
  ).length;
  return reached as PressureLevel;
}

function readProcess(collections: number): MemoryReading {
  const heapUsed = getHeapSpaceStatistics()
    .filter(({ space_name: name }) => !name.startsWith("new_") && name !== "read_only_space")
    .reduce((sum, { space_used_size: used }) => sum + used, 0);
  return { heapUsed, heapLimit, rss: process.memoryUsage.rss(), rssLimit: memoryLimit(), collections };
}

/**
 * `heap_size_limit` covers both generations. The young one has 48 MiB of it, in newer V8 192 MiB, unless a flag changes
 * it; a `--max-old-space-size` flag takes precedence.
 */
function oldSpaceLimit(): number {
  const flags = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? "").split(" ")];
  const given = flags.findLast((flag) => OLD_SPACE_FLAG.test(flag))?.replace(OLD_SPACE_FLAG, "");
  if (given !== undefined) return Number(given) * MIB;
  const young = Number(process.versions.node.split(".", 1)[0]) >= 23 ? 192 * MIB : 48 * MIB;
  const { heap_size_limit: whole } = getHeapStatistics();
  return Math.max(whole - young, whole / 2);
}

const MIB = 1024 * 1024;
const OLD_SPACE_FLAG = /^--max[-_]old[-_]space[-_]size=(?=[1-9]\d*$)/;
const heapLimit = oldSpaceLimit();

/** The limit of the container where there is one; without one, `constrainedMemory` is 0 or huge. */
function memoryLimit(): number {
  const machine = totalmem();
  const container = process.constrainedMemory();
  return container > 0 && container < machine ? container : machine;
}

/** Counts major collections, after which the old generation holds live objects only. */
class CollectionCount {
  count = 0;
  readonly #observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries() as readonly { readonly detail?: unknown }[]) {
      if (isMajor(detail)) this.count += 1;
    }
  });

  start(): void {
    this.#observer.observe({ entryTypes: ["gc"] });
  }

  stop(): void {
    this.#observer.disconnect();
  }
}

const isMajor = (detail: unknown): boolean =>
  typeof detail === "object" &&
  detail !== null &&
  "kind" in detail &&
  detail.kind === performanceConstants.NODE_PERFORMANCE_GC_MAJOR;
