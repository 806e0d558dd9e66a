/** The signals that the process is sent, one by one, to whoever waits for them. */
import type { Signals } from "./shell.js";

interface SignalSource {
  on(signal: NodeJS.Signals, heard: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, heard: (signal: NodeJS.Signals) => void): unknown;
}

const ENDING: readonly NodeJS.Signals[] = ["SIGTERM", "SIGINT"];

/** SIGTERM and SIGINT end the process by themselves until somebody waits for the first of them. */
export function takeSignals(source: SignalSource): Signals {
  const heard: NodeJS.Signals[] = [];
  const waiting: ((signal: NodeJS.Signals) => void)[] = [];
  let taken = false;
  const take = (): void => {
    taken = true;
    for (const signal of ENDING) {
      source.on(signal, () => {
        const next = waiting.shift();
        if (next === undefined) heard.push(signal);
        else next(signal);
      });
    }
  };
  return {
    next: () =>
      new Promise((resolve) => {
        if (!taken) take();
        const signal = heard.shift();
        if (signal === undefined) waiting.push(resolve);
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
