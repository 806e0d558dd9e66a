/** Raw JSON-RPC where everything comes mixed: over a pair of streams in this process, or over HTTP+SSE of 2024-11-05. */
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { createParser } from "eventsource-parser";
import type { Json } from "./host.js";
import { isResponse, type Wire } from "./wire.js";

/** Sorts what comes: responses to whoever waits for them, the rest to everybody who listens. */
class Mixed {
  readonly #waiting = new Map<unknown, { resolve(response: Json): void; reject(reason: Error): void }>();
  readonly #hearers = new Set<(message: Json) => void>();

  receive(message: Json): void {
    const waiting = isResponse(message) ? this.#waiting.get(message.id) : undefined;
    if (waiting === undefined) for (const hear of [...this.#hearers]) hear(message);
    else {
      this.#waiting.delete(message.id);
      waiting.resolve(message);
    }
  }

  end(): void {
    for (const waiting of this.#waiting.values()) waiting.reject(new Error("the wire is closed"));
    this.#waiting.clear();
  }

  wire(
    write: (message: Json, headers?: Readonly<Record<string, string>>) => Promise<void>,
    close: Wire["close"],
  ): Wire {
    return {
      request: async (message, { hear, signal, headers } = {}) => {
        if (hear !== undefined) this.#hearers.add(hear);
        try {
          return await new Promise<Json>((resolve, reject) => {
            this.#waiting.set(message.id, { resolve, reject });
            signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
            write(message, headers).catch(reject);
          });
        } finally {
          if (hear !== undefined) this.#hearers.delete(hear);
        }
      },
      post: (message, options) => write(message, options?.headers),
      listen: async (hear) => {
        this.#hearers.add(hear);
        return () => void this.#hearers.delete(hear);
      },
      close,
    };
  }
}

/** One message per line, from `output` of the peer and to its `input`. */
export function streamWire(input: Writable, output: Readable): Wire {
  const mixed = new Mixed();
  const lines = createInterface({ input: output });
  lines.on("line", (line) => mixed.receive(JSON.parse(line) as Json));
  const write = async (message: Json): Promise<void> => {
    input.write(`${JSON.stringify(message)}\n`);
  };
  return mixed.wire(write, async () => {
    input.end();
    mixed.end();
    lines.close();
  });
}

/** `url` is where the event stream is; `headers` go with every request. */
export async function sseWire(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Wire> {
  const mixed = new Mixed();
  const stop = new AbortController();
  const response = await fetch(url, {
    headers: { accept: "text/event-stream", ...headers },
    signal: stop.signal,
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
  const endpoint = new EventTarget();
  let target: string | undefined;
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (event === "endpoint") {
        target = new URL(data, url).href;
        endpoint.dispatchEvent(new Event("known"));
      } else mixed.receive(JSON.parse(data) as Json);
    },
  });
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
  };
  // However it ends, nobody who still waits will be answered.
  read().then(
    () => mixed.end(),
    () => mixed.end(),
  );
  if (target === undefined) await once(endpoint, "known");
  const write = async (message: Json, more: Readonly<Record<string, string>> = {}): Promise<void> => {
    const posted = await fetch(String(target), {
      method: "POST",
      headers: { "content-type": "application/json", ...headers, ...more },
      body: JSON.stringify(message),
    });
    if (!posted.ok) throw new Error(`HTTP ${posted.status}: ${await posted.text()}`);
    await posted.arrayBuffer();
  };
  return mixed.wire(write, async () => stop.abort());
}
