/** Raw JSON-RPC to a process: one message per line. */
import { createInterface } from "node:readline";
import { type Started, start } from "../processes.js";
import type { Json, Place } from "./host.js";
import { isResponse, type SendOptions, type Wire } from "./wire.js";

export interface PipeWire extends Wire {
  readonly process: Started;
  /** Lines on stdout that were no JSON; there must never be any. */
  readonly junk: readonly string[];
}

interface Waiting {
  readonly resolve: (response: Json) => void;
  readonly reject: (reason: Error) => void;
}

export function pipeWire(place: Extract<Place, { command: string }>): PipeWire {
  const process = start(place.command, place.args, {
    env: { PATH: globalThis.process.env.PATH, HOME: globalThis.process.env.HOME, ...place.env },
  });
  const waiting = new Map<unknown, Waiting>();
  const hearers = new Set<(message: Json) => void>();
  const junk: string[] = [];

  createInterface({ input: process.child.stdout }).on("line", (line) => {
    const message = parse(line);
    if (message === undefined) {
      junk.push(line);
    } else if (isResponse(message) && waiting.has(message.id)) {
      waiting.get(message.id)?.resolve(message);
      waiting.delete(message.id);
    } else {
      for (const hear of hearers) hear(message);
    }
  });
  const write = (message: Json): void => {
    process.child.stdin.write(`${JSON.stringify(message)}\n`);
  };
  void process.exited.then(() => {
    for (const { reject } of waiting.values()) reject(new Error(`the process ended: ${process.stderr()}`));
    waiting.clear();
  });
  // A process that is gone is noticed by its exit; writing to it then is no failure of its own.
  process.child.stdin.on("error", () => {});

  return {
    process,
    junk,
    async request(message: Json, { hear, signal }: SendOptions = {}) {
      if (hear !== undefined) hearers.add(hear);
      try {
        return await new Promise<Json>((resolve, reject) => {
          waiting.set(message.id, { resolve, reject });
          signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
          write(message);
        });
      } finally {
        if (hear !== undefined) hearers.delete(hear);
      }
    },
    async post(message) {
      write(message);
    },
    async listen(hear) {
      hearers.add(hear);
      return () => hearers.delete(hear);
    },
    async close() {
      process.child.stdin.end();
      const kill = setTimeout(() => process.child.kill("SIGKILL"), 60_000);
      await process.exited.finally(() => clearTimeout(kill));
    },
  };
}

function parse(line: string): Json | undefined {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
}
