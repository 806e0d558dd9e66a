/** The worker side: receives its identity from the primary process, reports readiness, and stops. */

import { Socket } from "node:net";
import type { JoinedProcess } from "../../cli/serving-mode.js";
import { WORKER_ENV, type WorkerIdentity, workerSocket } from "./identity.js";
import { memberOf } from "./member.js";
import { TakenConnections } from "./taken-connections.js";
import { type ToldMessage, type WorkerMessage, WorkerMessages } from "./worker-messages.js";

/** A process that may be a worker. */
export interface CurrentProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absent if the process has no parent with an IPC channel. */
  send?(message: FromWorker, sent: () => void): unknown;
  on(event: "message", listener: (message: ToWorker, handle: unknown) => void): unknown;
  on(event: "SIGTERM" | "SIGINT" | "SIGHUP", listener: () => void): unknown;
}

/**
 * The context of this process, or `self`, as a worker, once the primary has sent it; undefined in any other process.
 */
export async function joinWorkers(self: CurrentProcess = process): Promise<JoinedProcess | undefined> {
  if (self.env[WORKER_ENV] === undefined || self.send === undefined) return undefined;
  const reloads = new Set<() => void>();
  const stop = stopSignals(self);
  let messages: WorkerMessages | undefined;
  let connections: TakenConnections | undefined;
  return new Promise((resolve) => {
    // The empty callback takes the error of a closed channel, which would otherwise be thrown.
    const sendToPrimary = (message: FromWorker) => self.send?.(message, () => {});
    self.on("message", (message, handle) => {
      if (message.kind === "connection") {
        const isTaken = connections?.receive(handle instanceof Socket ? handle : undefined) === true;
        sendToPrimary({ kind: "confirmed", id: message.id, isTaken });
      } else if (message.kind === "stop") stop.requested(message.immediate);
      else if (message.kind === "reload") for (const reload of reloads) reload();
      else if (message.kind === "told") messages?.receive(message);
      else {
        const { identity, listen } = message;
        messages = new WorkerMessages(identity, sendToPrimary);
        connections = new TakenConnections(listen.http.port, {
          path: workerSocket(identity, identity.number, "hosts"),
        });
        resolve({
          member: memberOf(identity, messages, connections),
          listen,
          sections: message.sections,
          announce: (url) => sendToPrimary({ kind: "ready", url }),
          signals: {
            next: () => stop.next(),
            onHangup(reload) {
              reloads.add(reload);
              return () => void reloads.delete(reload);
            },
          },
        });
      }
    });
    sendToPrimary({ kind: "connected" });
  });
}

/**
 * A terminal and some supervisors signal every process of a group; the primary then also sends a stop message, which
 * must not count as the second signal. So a signal to the worker itself only drains it, and only the primary can stop
 * it immediately.
 */
function stopSignals(self: CurrentProcess): {
  requested(immediate: boolean): void;
  next(): Promise<NodeJS.Signals>;
} {
  const drain = deferredSignal();
  const atOnce = deferredSignal();
  self.on("SIGTERM", () => drain.come());
  self.on("SIGINT", () => drain.come());
  self.on("SIGHUP", () => {});
  const next = [drain.came, atOnce.came];
  return {
    requested(immediate) {
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

/** Where the listeners are bound: `listen` of the config, and the sections of features in it. */
export type Addresses = Pick<JoinedProcess, "listen" | "sections">;

/** From the primary process to a worker. */
export type ToWorker =
  /** The addresses are those with which the primary was started; the file may have changed since. */
  | ({ readonly kind: "identity"; readonly identity: WorkerIdentity } & Addresses)
  /** Drain; the second time, stop immediately. */
  | { readonly kind: "stop"; readonly immediate: boolean }
  /** Sent with a connection of a host. */
  | { readonly kind: "connection"; readonly id: number }
  /** Read the config file again. */
  | { readonly kind: "reload" }
  /** Of another worker. */
  | ToldMessage;

/** From a worker to the primary process. */
export type FromWorker =
  /** The worker receives messages; earlier ones would be lost. */
  | { readonly kind: "connected" }
  /** Its listeners are bound. */
  | { readonly kind: "ready"; readonly url: string }
  /** Of a connection. */
  | { readonly kind: "confirmed"; readonly id: number; readonly isTaken: boolean }
  /** For other workers. */
  | WorkerMessage;
