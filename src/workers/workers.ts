/** Keeps so many workers running: starts each again that ends by itself, and stops them all together. */
import { rm } from "node:fs/promises";
import type { ListenConfig } from "../config/config.js";
import { inBackground } from "../core/background.js";
import type { Logger } from "../core/logger.js";
import { type Seat, socketOf } from "../core/seat.js";
import type { FromWorker, ToWorker } from "./messages.js";

/** A process as `cluster.fork` starts it. */
export interface WorkerProcess {
  readonly process: { readonly pid?: number | undefined; kill(signal: "SIGKILL"): unknown };
  send(message: ToWorker, sent: (error: Error | null) => void): unknown;
  on(event: "message", heard: (message: FromWorker) => void): unknown;
  on(event: "exit", heard: (code: number | null, signal: string | null) => void): unknown;
  /** Instead of its exit where it could not be started at all; else it says nothing of its life. */
  on(event: "error", heard: (error: Error) => void): unknown;
}

export interface WorkersOptions {
  readonly seat: Omit<Seat, "number">;
  /** Where all of them listen, for as long as the first process runs. */
  readonly listen: ListenConfig;
  readonly logger: Logger;
  readonly fork: () => WorkerProcess;
  /** Looks after what a worker leaves behind that ended by itself, before the next one starts. */
  readonly lost: () => Promise<void>;
  /** Hears of one of the first workers that misses a server which is `required`. */
  readonly gaveUp: (number: number) => void;
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
/**
 * A worker that has not ended so long (ms) after it was told to does not hear any more. Draining takes it 25 s and
 * what it must end; who wants it at once waits no longer than a second.
 */
const KILL_AFTER_MS = { draining: 45_000, "at once": 900 } as const;

export class Workers {
  readonly #options: WorkersOptions;
  readonly #places = new Map<number, Place>();
  #stopping: "no" | keyof typeof KILL_AFTER_MS = "no";
  /** Waits for all to be ready; undefined once they were. */
  #starting: { ready(url: string): void; failed(error: Error): void } | undefined;
  /** Who waits for all to have ended. */
  readonly #waiting = new Set<() => void>();

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Resolves to the URL of all when every one of them listens. @throws Error when one ends before that. */
  start(): Promise<string> {
    return new Promise((ready, failed) => {
      this.#starting = { ready, failed };
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
    for (const [number, place] of this.#places) {
      clearTimeout(place.timer);
      if (place.process === undefined) continue;
      tell(place.process, { kind: "stop", immediate });
      place.timer = setTimeout(() => this.#kill(number, place), KILL_AFTER_MS[this.#stopping]);
    }
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      this.#tellEnded();
    });
  }

  #open(number: number, place: Place): void {
    const { seat, listen, logger } = this.#options;
    place.startedAt = performance.now();
    const worker = this.#fork(number, place);
    if (worker === undefined) return;
    place.process = worker;
    worker.on("message", (message) => {
      if (message.kind === "hears") {
        tell(worker, { kind: "seat", seat: { ...seat, number }, listen });
        // It may have been started just before everything was told to stop.
        if (this.#stopping !== "no") tell(worker, { kind: "stop", immediate: this.#stopping === "at once" });
      } else {
        place.ready = true;
        if (![...this.#places.values()].every(({ ready }) => ready)) return;
        this.#starting?.ready(message.url);
        this.#starting = undefined;
      }
    });
    worker.on("exit", (code, signal) => this.#ended(number, place, signal ?? `code ${code}`, code));
    worker.on("error", (error) => {
      // One that lives has failed at something else, such as hearing of a signal; its exit will be told.
      if (worker.process.pid === undefined) this.#ended(number, place, error.message, null);
      else logger.warn({ worker: number, error }, `worker ${number} could not be reached`);
    });
  }

  /** Some reasons why there is no process are thrown, and others told by the worker. */
  #fork(number: number, place: Place): WorkerProcess | undefined {
    try {
      return this.#options.fork();
    } catch (error) {
      this.#ended(number, place, error instanceof Error ? error.message : String(error), null);
      return undefined;
    }
  }

  #ended(number: number, place: Place, how: string, code: number | null): void {
    place.process = undefined;
    place.ready = false;
    if (this.#stopping === "no") {
      this.#options.logger.error({ worker: number, how }, `worker ${number} ended with ${how}`);
    }
    const cleared = this.#clear(number).then(() => this.#after(number, place, code, how));
    inBackground(cleared, this.#options.logger, "starting a worker again");
  }

  #kill(number: number, { process: worker }: Place): void {
    if (worker === undefined) return;
    this.#options.logger.warn({ worker: number }, `worker ${number} does not end and is killed`);
    worker.process.kill("SIGKILL");
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
      clearTimeout(place.timer);
      this.#tellEnded();
      return;
    }
    // Who takes the place of another finds that the others go on; they have met the server, and it may come back.
    if (code === UNAVAILABLE && place.restarts === 0) {
      this.#options.gaveUp(number);
      return;
    }
    if (this.#starting !== undefined) {
      this.#starting.failed(new Error(`worker ${number} ended with ${how} before it was ready`));
      return;
    }
    const lived = performance.now() - place.startedAt;
    place.failures = lived >= LONG_MS ? 0 : place.failures + 1;
    const waitMs =
      place.failures <= 1 ? 0 : Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (place.failures - 2));
    place.restarts += 1;
    place.timer = setTimeout(() => this.#open(number, place), waitMs);
  }

  #tellEnded(): void {
    if ([...this.#places.values()].some(({ process }) => process !== undefined)) return;
    for (const resolve of this.#waiting) resolve();
  }
}

/** Whoever cannot hear any more is about to end, and that is heard of by itself. */
function tell(worker: WorkerProcess | undefined, message: ToWorker): void {
  worker?.send(message, () => {});
}
