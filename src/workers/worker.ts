/** The worker's end of the line to the first process: its seat, when to stop, and word that it is ready. */
import type { ListenConfig } from "../config/config.js";
import type { WorkerIdentity } from "../core/worker-identity.js";
import { type FromWorker, type ToWorker, WORKER_ENV } from "./messages.js";

export interface WorkerContext {
  readonly identity: WorkerIdentity;
  /** Where all workers listen, whatever the config file says by now. */
  readonly listen: ListenConfig;
  /** Tells that hosts are answered at `url`. */
  announce(url: string): void;
  /** What ends it or makes it read its config again, in the place of the signals that a process of its own is sent. */
  readonly signals: {
    next(): Promise<NodeJS.Signals>;
    onHangup(reload: () => void): () => void;
  };
}

/** A process that may be somebody's worker. */
export interface OwnProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent where no process waits for its word. */
  send?(message: FromWorker, sent: () => void): unknown;
  on(event: "message", heard: (message: ToWorker) => void): unknown;
  on(event: "SIGTERM" | "SIGINT" | "SIGHUP", heard: () => void): unknown;
}

/** This process, or `self`, as one of several workers, once it knows which; undefined when it is none. */
export async function joinWorkers(self: OwnProcess = process): Promise<WorkerContext | undefined> {
  if (self.env[WORKER_ENV] === undefined || self.send === undefined) return undefined;
  const reloads = new Set<() => void>();
  const stop = stopSignals(self);
  return new Promise((resolve) => {
    // Without somebody who hears of it, a word that nobody is there to take would end the process.
    const sendToPrimary = (message: FromWorker) => self.send?.(message, () => {});
    self.on("message", (message) => {
      if (message.kind === "stop") stop.asked(message.immediate);
      else if (message.kind === "reload") for (const reload of reloads) reload();
      else
        resolve({
          identity: message.identity,
          listen: message.listen,
          announce: (url) => sendToPrimary({ kind: "ready", url }),
          signals: {
            next: () => stop.next(),
            onHangup(reload) {
              reloads.add(reload);
              return () => void reloads.delete(reload);
            },
          },
        });
    });
    sendToPrimary({ kind: "connected" });
  });
}

/**
 * A terminal and some supervisors send their signals to every process of a group, the first process included, which
 * then tells its workers to stop: that is one wish and not two. So a signal sent to the worker itself begins to stop
 * it, and only the first process can make it stop at once.
 */
function stopSignals(self: OwnProcess): { asked(immediate: boolean): void; next(): Promise<NodeJS.Signals> } {
  const drain = deferredSignal();
  const atOnce = deferredSignal();
  self.on("SIGTERM", () => drain.come());
  self.on("SIGINT", () => drain.come());
  self.on("SIGHUP", () => {});
  const next = [drain.came, atOnce.came];
  return {
    asked(immediate) {
      drain.come();
      if (immediate) atOnce.come();
    },
    next: () => next.shift() ?? new Promise(() => {}),
  };
}

function deferredSignal(): { come(): void; readonly came: Promise<NodeJS.Signals> } {
  let come = (): void => {};
  const came = new Promise<NodeJS.Signals>((resolve) => {
    come = () => resolve("SIGTERM");
  });
  return { come: () => come(), came };
}
