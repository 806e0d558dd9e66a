/** Watches how full the memory is, and says at which step of distress the process is. */
import { totalmem } from "node:os";
import { PerformanceObserver, constants as performanceConstants } from "node:perf_hooks";
import { getHeapSpaceStatistics, getHeapStatistics } from "node:v8";
import type { Logger } from "../core/logger.js";
import type { Pressure, PressureLevel } from "../core/pressure.js";

/** Shares of the limit at which a level begins (Envoy's overload manager has the same). */
const THRESHOLDS = [0.92, 0.95, 0.98] as const;
/** A level ends this much below where it begins, so that it does not come and go with every collection. */
const HYSTERESIS = 0.02;
const SAMPLE_MS = 250;

/** What is there to be measured, in bytes. */
export interface MemoryReading {
  /** By objects that have lived for a while: when there is no room for those, the process ends. */
  readonly heapUsed: number;
  /** For the same objects. */
  readonly heapLimit: number;
  readonly rss: number;
  /** What the process may have in all: the limit of its container, or the memory of the machine. */
  readonly rssLimit: number;
  /** Major collections so far. */
  readonly collections: number;
}

export interface MemoryPressureOptions {
  readonly logger: Logger;
  /** Default: the process that this is. */
  readonly read?: () => MemoryReading;
}

const LEVEL_MESSAGES: Readonly<Record<PressureLevel, string>> = {
  0: "there is memory again: all is served",
  1: "short of memory: no new streams, and no connection is kept alive",
  2: "short of memory: new calls are refused as well",
  3: "short of memory: new connections are refused as well",
};

export class MemoryPressure implements Pressure {
  readonly #logger: Logger;
  readonly #read: () => MemoryReading;
  readonly #collections = new CollectionCount();
  #timer: NodeJS.Timeout | undefined;
  #level: PressureLevel = 0;
  #lastCollections = 0;
  /** What the last major collection left, at most. What came since may be garbage, which is no reason to refuse anybody. */
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

  /** Looks now, and again and again until `stop`. */
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
 * What Node tells is the limit for old and young objects together. The young ones have 48 MiB of it, since Node 24
 * 192 MiB, unless a flag says otherwise; a flag for the old ones says it best.
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

/** Of the container, where there is one with a limit; what stands there otherwise is no number of bytes. */
function memoryLimit(): number {
  const machine = totalmem();
  const container = process.constrainedMemory();
  return container > 0 && container < machine ? container : machine;
}

/** Counts the collections after which only what is needed is left in the old space. */
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
