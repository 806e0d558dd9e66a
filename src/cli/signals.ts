/** Delivers signals of the process, one at a time, to the waiting command. */
import type { Signals } from "./command-context.js";

interface SignalSource {
  on(signal: NodeJS.Signals, handler: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, handler: (signal: NodeJS.Signals) => void): unknown;
}

const TERMINATING: readonly NodeJS.Signals[] = ["SIGTERM", "SIGINT"];

/** SIGTERM and SIGINT end the process until a command waits for the first of them. */
export function takeSignals(source: SignalSource): Signals {
  const received: NodeJS.Signals[] = [];
  const waiters: ((signal: NodeJS.Signals) => void)[] = [];
  let taken = false;
  const take = (): void => {
    taken = true;
    for (const signal of TERMINATING) {
      source.on(signal, () => {
        const next = waiters.shift();
        if (next === undefined) received.push(signal);
        else next(signal);
      });
    }
  };
  return {
    next: () =>
      new Promise((resolve) => {
        if (!taken) take();
        const signal = received.shift();
        if (signal === undefined) waiters.push(resolve);
        else resolve(signal);
      }),
    onHangup: (reload) => {
      source.on("SIGHUP", reload);
      return () => {
        source.off("SIGHUP", reload);
      };
    },
  };
}
