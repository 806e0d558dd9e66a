/** Keeps so many workers running: starts each again that ends by itself, and stops them all together. */
import { rm } from "node:fs/promises";
import type { Logger } from "../core/logger.js";
import { type Seat, socketOf } from "../core/seat.js";
import type { FromWorker, ToWorker } from "./messages.js";

/** A process as `cluster.fork` starts it. */
export interface WorkerProcess {
  readonly process: { readonly pid?: number | undefined };
  send(message: ToWorker, sent: (error: Error | null) => void): unknown;
  on(event: "message", heard: (message: FromWorker) => void): unknown;
  on(event: "exit", heard: (code: number | null, signal: string | null) => void): unknown;
}

export interface WorkersOptions {
  readonly seat: Omit<Seat, "number">;
  readonly logger: Logger;
  readonly fork: () => WorkerProcess;
  /** Looks after what a worker leaves behind that ended by itself, before the next one starts. */
  readonly lost: () => Promise<void>;
  /** Hears once of an exit code for which starting again is no cure. */
  readonly gaveUp: (number: number, code: number) => void;
}

/** One that runs, as the status page shows it. */
export interface WorkerStatus {
  readonly worker: number;
  readonly pid: number | undefined;
  readonly ready: boolean;
  /** How often one of this number was started again. */
  readonly restarts: number;
}

interface Place {
  process: WorkerProcess | undefined;
  ready: boolean;
  startedAt: number;
  restarts: number;
  /** How many in a row did not live long. */
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

/** Who lived so long (ms) did not fail at starting, and is started again at once. */
const LONG_MS = 60_000;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;
/** A server that is `required` is not there: the exit code of the contract. */
const UNAVAILABLE = 69;

export class Workers {
  readonly #options: WorkersOptions;
  readonly #places = new Map<number, Place>();
  #stopping: "no" | "draining" | "at once" = "no";
  #begun: { ready(url: string): void; failed(error: Error): void } | undefined;
  readonly #ended = new Set<() => void>();

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Resolves to the URL of all when every one of them listens. @throws Error when one ends before that. */
  start(): Promise<string> {
    return new Promise((ready, failed) => {
      this.#begun = { ready, failed };
      for (let number = 1; number <= this.#options.seat.count; number += 1) {
        const place = {
          process: undefined,
          ready: false,
          startedAt: 0,
          restarts: 0,
          failures: 0,
          timer: undefined,
        };
        this.#places.set(number, place);
        this.#open(number, place);
      }
    });
  }

  status(): readonly WorkerStatus[] {
    return [...this.#places].map(([worker, { process, ready, restarts }]) => ({
      worker,
      pid: process?.process.pid,
      ready,
      restarts,
    }));
  }

  reload(): void {
    for (const { process } of this.#places.values()) tell(process, { kind: "reload" });
  }

  /** Stops all of them and resolves when they have ended. */
  stop(immediate: boolean): Promise<void> {
    this.#stopping = immediate ? "at once" : "draining";
    for (const { process, timer } of this.#places.values()) {
      clearTimeout(timer);
      tell(process, { kind: "stop", immediate });
    }
    return new Promise((resolve) => {
      this.#ended.add(resolve);
      this.#tellEnded();
    });
  }

  #open(number: number, place: Place): void {
    const { seat, fork, logger } = this.#options;
    const worker = fork();
    place.process = worker;
    place.startedAt = performance.now();
    worker.on("message", (message) => {
      if (message.kind === "hears") {
        tell(worker, { kind: "seat", seat: { ...seat, number } });
        // It may have been started just before everything was told to stop.
        if (this.#stopping !== "no") tell(worker, { kind: "stop", immediate: this.#stopping === "at once" });
      } else {
        place.ready = true;
        if ([...this.#places.values()].every(({ ready }) => ready)) this.#begun?.ready(message.url);
      }
    });
    worker.on("exit", (code, signal) => {
      place.process = undefined;
      place.ready = false;
      const how = signal ?? `code ${code}`;
      if (this.#stopping === "no") {
        logger.error({ worker: number, how }, `worker ${number} ended with ${how}`);
      }
      void this.#clear(number).then(() => this.#after(number, place, code, how));
    });
  }

  /** A worker that was killed leaves its sockets behind, and the next one could not listen. */
  async #clear(number: number): Promise<void> {
    if (this.#stopping !== "no") return;
    const { seat, lost, logger } = this.#options;
    const sockets = process.platform === "win32" ? [] : (["requests", "admin"] as const);
    const cleared = sockets.map((what) => rm(socketOf(seat, number, what), { force: true }));
    await Promise.all([...cleared, lost()]).catch((error: unknown) =>
      logger.warn({ worker: number, error }, "what a worker left behind could not be cleared away"),
    );
  }

  #after(number: number, place: Place, code: number | null, how: string): void {
    if (this.#stopping !== "no") {
      this.#tellEnded();
      return;
    }
    if (code === UNAVAILABLE) {
      this.#options.gaveUp(number, code);
      return;
    }
    this.#begun?.failed(new Error(`worker ${number} ended with ${how} before it was ready`));
    const lived = performance.now() - place.startedAt;
    place.failures = lived >= LONG_MS ? 0 : place.failures + 1;
    const waitMs =
      place.failures <= 1 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (place.failures - 2));
    place.restarts += 1;
    place.timer = setTimeout(() => this.#open(number, place), waitMs);
  }

  #tellEnded(): void {
    if ([...this.#places.values()].some(({ process }) => process !== undefined)) return;
    for (const ended of this.#ended) ended();
  }
}

/** Whoever cannot hear any more is about to end, and that is heard of by itself. */
function tell(worker: WorkerProcess | undefined, message: ToWorker): void {
  worker?.send(message, () => {});
}
