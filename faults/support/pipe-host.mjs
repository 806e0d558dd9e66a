/** Hosts whose messages all come over one way: standard input and output, or an event stream of 2024-11-05. */
import { createInterface } from "node:readline";
import { META_OF_MODERN, newAgent, post } from "./host.mjs";

class PipeHost {
  #lastId = 0;
  #waiting = new Map();
  #hearers = new Set();
  constructor(era, write) {
    this.era = era;
    this.write = write;
  }

  take(message) {
    if (message.method !== undefined) {
      for (const hear of this.#hearers) hear(message);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    waiting?.({ message, answers: 1 });
  }

  async open(protocolVersion) {
    if (this.era === "modern") return this;
    await this.send("initialize", {
      protocolVersion,
      capabilities: {},
      clientInfo: { name: "faults", version: "1" },
    });
    await this.tell("notifications/initialized");
    return this;
  }

  /** `hear` gets all that is said meanwhile, whatever it belongs to: a pipe does not tell. */
  async send(method, params = {}, { hear, id = ++this.#lastId } = {}) {
    const full =
      this.era === "modern" ? { ...params, _meta: { ...params._meta, ...META_OF_MODERN } } : params;
    if (hear !== undefined) this.#hearers.add(hear);
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve));
    await this.write({ jsonrpc: "2.0", id, method, params: full });
    return answer.finally(() => this.#hearers.delete(hear));
  }

  call(name, args = {}, { meta, ...options } = {}) {
    return this.send(
      "tools/call",
      { name, arguments: args, ...(meta !== undefined && { _meta: meta }) },
      options,
    );
  }

  async list(kind) {
    return (await this.send(`${kind}/list`)).message.result[kind];
  }

  tell(method, params) {
    return this.write({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
  }

  cancel(id) {
    return this.tell("notifications/cancelled", { requestId: id });
  }

  async stream({ hear }) {
    this.#hearers.add(hear);
    if (this.era === "modern") {
      void this.send("subscriptions/listen", { notifications: { toolsListChanged: true } });
    }
    return { stop: async () => void this.#hearers.delete(hear) };
  }
}

/** The host at the other end of a started program. */
export async function pipeHost(program, era) {
  const host = new PipeHost(era, async (message) => {
    program.child.stdin.write(`${JSON.stringify(message)}\n`);
  });
  createInterface({ input: program.child.stdout }).on("line", (line) => host.take(JSON.parse(line)));
  await host.open("2025-11-25");
  return Object.assign(host, { stop: () => program.stop() });
}

/** A host of 2024-11-05, at `GET /sse` and `POST /messages`. */
export async function sseHost(origin) {
  const controller = new AbortController();
  const response = await fetch(`${origin}/sse`, {
    headers: { accept: "text/event-stream" },
    signal: controller.signal,
  });
  const agent = newAgent();
  let endpoint;
  let found;
  const ready = new Promise((resolve) => {
    found = resolve;
  });
  const host = new PipeHost("legacy", async (message) => {
    await post(endpoint, message, agent);
  });
  const read = async () => {
    let rest = "";
    for await (const chunk of response.body) {
      rest += Buffer.from(chunk).toString("utf8");
      for (let at = rest.indexOf("\n\n"); at >= 0; at = rest.indexOf("\n\n")) {
        const lines = rest.slice(0, at).split("\n");
        rest = rest.slice(at + 2);
        const data = lines
          .find((line) => line.startsWith("data:"))
          ?.slice(5)
          .trim();
        if (lines.includes("event: endpoint")) {
          endpoint = new URL(data, origin);
          found();
        } else if (data !== undefined) host.take(JSON.parse(data));
      }
    }
  };
  read().catch(() => {});
  await ready;
  await host.open("2024-11-05");
  return Object.assign(host, { stop: async () => controller.abort() });
}
