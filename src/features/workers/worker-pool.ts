/** Runs the configured number of workers: restarts crashed ones, and stops all together. */
import { rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { inBackground, type Logger } from "../../core/logger.js";
import type { ConnectionDealer } from "./connection-dealer.js";
import { WORKER_SOCKETS, type WorkerIdentity, workerSocket } from "./identity.js";
import type { Addresses, FromWorker, ToWorker } from "./worker.js";
import type { WorkerMessage } from "./worker-messages.js";

/** A process as `cluster.fork` returns it. */
export interface WorkerProcess {
  readonly process: { readonly pid?: number | undefined; kill(signal: "SIGKILL"): unknown };
  send(message: ToWorker, sent: (error: Error | null) => void): unknown;
  /** With a connection, which stays open in this process too. */
  send(
    message: ToWorker,
    connection: Socket,
    options: { readonly keepOpen: true },
    sent: (error: Error | null) => void,
  ): unknown;
  on(event: "message", listener: (message: FromWorker) => void): unknown;
  on(event: "exit", listener: (code: number | null, signal: string | null) => void): unknown;
  /** Emitted in place of `exit` when the process could not be spawned; otherwise the process may still run. */
  on(event: "error", listener: (error: Error) => void): unknown;
}

/** How workers are started and monitored. */
export interface WorkerPoolOptions {
  readonly identity: Omit<WorkerIdentity, "number">;
  /** The common addresses of all workers while the primary runs; the port is that of `start`. */
  readonly addresses: Addresses;
  /** Gives workers their connections. */
  readonly dealer: Pick<ConnectionDealer, "opened" | "ended" | "confirmed">;
  readonly logger: Logger;
  readonly fork: () => WorkerProcess;
  /** Runs after a worker crashed and before its successor starts. */
  readonly onWorkerLost: () => Promise<void>;
  /** Called when a first worker (not a restarted one) cannot connect to a `required` server. */
  readonly onRequiredServerMissing: (number: number) => void;
}

/** One worker, as the status page shows it. */
export interface WorkerStatus {
  readonly worker: number;
  readonly pid: number | undefined;
  readonly ready: boolean;
  /** Restarts of the worker with this number. */
  readonly restarts: number;
}

interface WorkerSlot {
  process: WorkerProcess | undefined;
  ready: boolean;
  startedAt: number;
  restarts: number;
  /** Consecutive processes that ended before STABLE_MS. */
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

/** A worker that ran for this time (ms) did not fail at the start; it is restarted without backoff. */
const STABLE_MS = 60_000;
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;
/** Exit code of a process whose `required` server cannot be connected (EX_UNAVAILABLE). */
const EXIT_UNAVAILABLE = 69;
/** From the stop message to SIGKILL, in ms. Draining takes up to 25 s, and then the worker closes its servers. */
const KILL_AFTER_MS = { draining: 45_000, "at once": 900 } as const;

/** Supervises the workers of the primary process. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #slots = new Map<number, WorkerSlot>();
  #stopping: "no" | keyof typeof KILL_AFTER_MS = "no";
  /** Settles `start`; undefined once all workers were ready. */
  #starting: { ready(url: string): void; failed(error: Error): void } | undefined;
  /** Resolved when all workers have ended. */
  readonly #waiting = new Set<() => void>();
  #hasFailedToStop = false;
  #port = 0;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  /** Resolves to their common URL when all workers serve. `port`: where hosts connect. @throws Error if one ends before that. */
  start(port: number): Promise<string> {
    this.#port = port;
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

  /** Stops all workers and resolves when they have ended. */
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

  /** Whether a worker exited with another code than 0 during a stop, as one does that cuts off calls. */
  get hasFailedToStop(): boolean {
    return this.#hasFailedToStop;
  }

  #spawn(number: number, slot: WorkerSlot): void {
    const { identity, addresses, dealer, logger } = this.#options;
    slot.startedAt = performance.now();
    const worker = this.#fork(number, slot);
    if (worker === undefined) return;
    slot.process = worker;
    worker.on("message", (message) => {
      if (message.kind === "connected") {
        const listen = { ...addresses.listen, http: { ...addresses.listen.http, port: this.#port } };
        send(worker, { kind: "identity", identity: { ...identity, number }, ...addresses, listen });
        // The worker may have been spawned just before the stop.
        if (this.#stopping !== "no") send(worker, { kind: "stop", immediate: this.#stopping === "at once" });
      } else if (message.kind === "tell") this.#passOn(number, message);
      else if (message.kind === "confirmed") dealer.confirmed(number, message.id, message.isTaken);
      else {
        slot.ready = true;
        dealer.opened(number, (id, connection) =>
          worker.send({ kind: "connection", id }, connection, { keepOpen: true }, () => {}),
        );
        if (![...this.#slots.values()].every(({ ready }) => ready)) return;
        this.#starting?.ready(message.url);
        this.#starting = undefined;
      }
    });
    worker.on("exit", (code, signal) => this.#ended(number, slot, signal ?? `code ${code}`, code));
    worker.on("error", (error) => {
      // A running process failed in another way, e.g. receiving a message; `exit` follows when it ends.
      if (worker.process.pid === undefined) this.#ended(number, slot, error.message, null);
      else logger.warn({ worker: number, error }, `worker ${number} could not be reached`);
    });
  }

  /** To one other worker, or to all. */
  #passOn(from: number, { to, text }: WorkerMessage): void {
    for (const [number, { process, ready }] of this.#slots)
      if (ready && number !== from && (to ?? number) === number) send(process, { kind: "told", from, text });
  }

  /** `fork` throws on some spawn errors; others are emitted as `error`. */
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
    this.#options.dealer.ended(number);
    if (this.#stopping === "no") {
      this.#options.logger.error({ worker: number, how }, `worker ${number} ended with ${how}`);
    }
    const cleared = this.#clear(number).then(() => this.#after(number, slot, code, how));
    inBackground(cleared, this.#options.logger, "restarting a worker");
  }

  #kill(number: number, { process: worker }: WorkerSlot): void {
    if (worker === undefined) return;
    this.#options.logger.warn({ worker: number }, `worker ${number} did not stop in time; sending SIGKILL`);
    worker.process.kill("SIGKILL");
  }

  /** Removes the sockets of a killed worker: its successor could not bind them (EADDRINUSE). */
  async #clear(number: number): Promise<void> {
    if (this.#stopping !== "no") return;
    const { identity, onWorkerLost, logger } = this.#options;
    const sockets = process.platform === "win32" ? [] : WORKER_SOCKETS;
    const cleared = sockets.map((what) => rm(workerSocket(identity, number, what), { force: true }));
    await Promise.all([...cleared, onWorkerLost()]).catch((error: unknown) =>
      logger.warn({ worker: number, error }, "cleaning up after a worker failed"),
    );
  }

  #after(number: number, slot: WorkerSlot, code: number | null, how: string): void {
    if (this.#stopping !== "no") {
      this.#hasFailedToStop ||= code !== 0;
      clearTimeout(slot.timer);
      this.#notifyEnded();
      return;
    }
    // A restarted worker does not stop the gateway: the other workers were connected to the server, and it may return.
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

/** Errors are dropped: a worker with a closed channel is about to emit `exit`. */
function send(worker: WorkerProcess | undefined, message: ToWorker): void {
  worker?.send(message, () => {});
}
