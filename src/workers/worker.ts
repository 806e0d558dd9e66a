/** The worker's end of the line to the first process: its seat, when to stop, and word that it is ready. */
import type { Seat } from "../core/seat.js";
import { type FromWorker, SEATED, type ToWorker } from "./messages.js";

export interface SeatedWorker {
  readonly seat: Seat;
  /** Tells that hosts are answered at `url`. */
  announce(url: string): void;
  /** What ends it or makes it read its config again, in the place of the signals that a process of its own is sent. */
  readonly signals: {
    next(): Promise<NodeJS.Signals>;
    onHangup(reload: () => void): () => void;
  };
}

/** This process as one of several workers, once it knows which; undefined when it is none. */
export async function takeSeat(): Promise<SeatedWorker | undefined> {
  if (process.env[SEATED] === undefined || process.send === undefined) return undefined;
  const reloads = new Set<() => void>();
  const stop = stopping();
  return new Promise((resolve) => {
    const say = (message: FromWorker) => process.send?.(message);
    process.on("message", (message: ToWorker) => {
      if (message.kind === "stop") stop.asked(message.immediate);
      else if (message.kind === "reload") for (const reload of reloads) reload();
      else
        resolve({
          seat: message.seat,
          announce: (url) => say({ kind: "ready", url }),
          signals: {
            next: () => stop.next(),
            onHangup(reload) {
              reloads.add(reload);
              return () => void reloads.delete(reload);
            },
          },
        });
    });
    say({ kind: "hears" });
  });
}

/**
 * A terminal and some supervisors send their signals to every process of a group, the first process included, which
 * then tells its workers to stop: that is one wish and not two. So a signal sent to the worker itself begins to stop
 * it, and only the first process can make it stop at once.
 */
function stopping(): { asked(immediate: boolean): void; next(): Promise<NodeJS.Signals> } {
  const drain = wish();
  const atOnce = wish();
  process.on("SIGTERM", () => drain.come());
  process.on("SIGINT", () => drain.come());
  process.on("SIGHUP", () => {});
  const next = [drain.came, atOnce.came];
  return {
    asked(immediate) {
      drain.come();
      if (immediate) atOnce.come();
    },
    next: () => next.shift() ?? new Promise(() => {}),
  };
}

function wish(): { come(): void; readonly came: Promise<NodeJS.Signals> } {
  let come = (): void => {};
  const came = new Promise<NodeJS.Signals>((resolve) => {
    come = () => resolve("SIGTERM");
  });
  return { come: () => come(), came };
}
