/** Keeps so many workers running: starts each again that ends by itself, and stops them all together. */
import { rm } from "node:fs/promises";
import type { ListenConfig } from "../config/config.js";
import { inBackground, type Logger } from "../core/logger.js";
import { type WorkerIdentity, workerSocket } from "../core/worker-identity.js";
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

export interface WorkerPoolOptions {
  readonly identity: Omit<WorkerIdentity, "number">;
  /** Where all of them listen, for as long as the first process runs. */
  readonly listen: ListenConfig;
  readonly logger: Logger;
  readonly fork: () => WorkerProcess;
  /** Looks after what a worker leaves behind that ended by itself, before the next one starts. */
  readonly onWorkerLost: () => Promise<void>;
  /** Hears of one of the first workers that misses a server which is `required`. */
  readonly onRequiredServerMissing: (number: number) => void;
}

/** One that runs, as the status page shows it. */
export interface WorkerStatus {
  readonly worker: number;
  readonly pid: number | undefined;
  readonly ready: boolean;
  /** How often one of this number was started again. */
  readonly restarts: number;
}

interface WorkerSlot {
  process: WorkerProcess | undefined;
  ready: boolean;
  startedAt: number;
  restarts: number;
  /** How many in a row did not live long. */
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

/** Who lived so long (ms) did not fail at starting, and is started again at once. */
const STABLE_MS = 60_000;
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;
/** A server that is `required` is not there: the exit code of the contract. */
const EXIT_UNAVAILABLE = 69;
/**
 * A worker that has not ended so long (ms) after it was told to does not hear any more. Draining takes it 25 s and
 * what it must end; who wants it at once waits no longer than a second.
 */
const KILL_AFTER_MS = { draining: 45_000, "at once": 900 } as const;

export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #slots = new Map<number, WorkerSlot>();
  #stopping: "no" | keyof typeof KILL_AFTER_MS = "no";
  /** Waits for all to be ready; undefined once they were. */
  #starting: { ready(url: string): void; failed(error: Error): void } | undefined;
  /** Who waits for all to have ended. */
  readonly #waiting = new Set<() => void>();

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  /** Resolves to the URL of all when every one of them listens. @throws Error when one ends before that. */
  start(): Promise<string> {
    return new Promise((ready, failed) => {
      this.#starting = { ready, failed };
      for (let number = 1; number <= this.#options.identity.count; number += 1) {
        const slot = {
          process: undefined,
          ready: false,
          startedAt: 0,
          restarts: 0,
          failures: 0,
          timer: undefined,
        };
        this.#slots.set(number, slot);
        this.#spawn(number, slot);
      }
    });
  }

  status(): readonly WorkerStatus[] {
    return [...this.#slots].map(([worker, { process, ready, restarts }]) => ({
      worker,
      pid: process?.process.pid,
      ready,
      restarts,
    }));
  }

  reload(): void {
    for (const { process } of this.#slots.values()) send(process, { kind: "reload" });
  }

  /** Stops all of them and resolves when they have ended. */
  stop(immediate: boolean): Promise<void> {
    this.#stopping = immediate ? "at once" : "draining";
    for (const [number, slot] of this.#slots) {
      clearTimeout(slot.timer);
      if (slot.process === undefined) continue;
      send(slot.process, { kind: "stop", immediate });
      slot.timer = setTimeout(() => this.#kill(number, slot), KILL_AFTER_MS[this.#stopping]);
    }
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      this.#notifyEnded();
    });
  }

  #spawn(number: number, slot: WorkerSlot): void {
    const { identity, listen, logger } = this.#options;
    slot.startedAt = performance.now();
    const worker = this.#fork(number, slot);
    if (worker === undefined) return;
    slot.process = worker;
    worker.on("message", (message) => {
      if (message.kind === "connected") {
        send(worker, { kind: "identity", identity: { ...identity, number }, listen });
        // It may have been started just before everything was told to stop.
        if (this.#stopping !== "no") send(worker, { kind: "stop", immediate: this.#stopping === "at once" });
      } else {
        slot.ready = true;
        if (![...this.#slots.values()].every(({ ready }) => ready)) return;
        this.#starting?.ready(message.url);
        this.#starting = undefined;
      }
    });
    worker.on("exit", (code, signal) => this.#ended(number, slot, signal ?? `code ${code}`, code));
    worker.on("error", (error) => {
      // One that lives has failed at something else, such as hearing of a signal; its exit will be told.
      if (worker.process.pid === undefined) this.#ended(number, slot, error.message, null);
      else logger.warn({ worker: number, error }, `worker ${number} could not be reached`);
    });
  }

  /** Some reasons why there is no process are thrown, and others told by the worker. */
  #fork(number: number, slot: WorkerSlot): WorkerProcess | undefined {
    try {
      return this.#options.fork();
    } catch (error) {
      this.#ended(number, slot, error instanceof Error ? error.message : String(error), null);
      return undefined;
    }
  }

  #ended(number: number, slot: WorkerSlot, how: string, code: number | null): void {
    slot.process = undefined;
    slot.ready = false;
    if (this.#stopping === "no") {
      this.#options.logger.error({ worker: number, how }, `worker ${number} ended with ${how}`);
    }
    const cleared = this.#clear(number).then(() => this.#after(number, slot, code, how));
    inBackground(cleared, this.#options.logger, "starting a worker again");
  }

  #kill(number: number, { process: worker }: WorkerSlot): void {
    if (worker === undefined) return;
    this.#options.logger.warn({ worker: number }, `worker ${number} does not end and is killed`);
    worker.process.kill("SIGKILL");
  }

  /** A worker that was killed leaves its sockets behind, and the next one could not listen. */
  async #clear(number: number): Promise<void> {
    if (this.#stopping !== "no") return;
    const { identity, onWorkerLost, logger } = this.#options;
    const sockets = process.platform === "win32" ? [] : (["requests", "admin"] as const);
    const cleared = sockets.map((what) => rm(workerSocket(identity, number, what), { force: true }));
    await Promise.all([...cleared, onWorkerLost()]).catch((error: unknown) =>
      logger.warn({ worker: number, error }, "what a worker left behind could not be cleared away"),
    );
  }

  #after(number: number, slot: WorkerSlot, code: number | null, how: string): void {
    if (this.#stopping !== "no") {
      clearTimeout(slot.timer);
      this.#notifyEnded();
      return;
    }
    // Who takes the place of another finds that the others go on; they have met the server, and it may come back.
    if (code === EXIT_UNAVAILABLE && slot.restarts === 0) {
      this.#options.onRequiredServerMissing(number);
      return;
    }
    if (this.#starting !== undefined) {
      this.#starting.failed(new Error(`worker ${number} ended with ${how} before it was ready`));
      return;
    }
    const lived = performance.now() - slot.startedAt;
    slot.failures = lived >= STABLE_MS ? 0 : slot.failures + 1;
    const waitMs =
      slot.failures <= 1 ? 0 : Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** (slot.failures - 2));
    slot.restarts += 1;
    slot.timer = setTimeout(() => this.#spawn(number, slot), waitMs);
  }

  #notifyEnded(): void {
    if ([...this.#slots.values()].some(({ process }) => process !== undefined)) return;
    for (const resolve of this.#waiting) resolve();
  }
}

/** Whoever cannot hear any more is about to end, and that is heard of by itself. */
function send(worker: WorkerProcess | undefined, message: ToWorker): void {
  worker?.send(message, () => {});
}
