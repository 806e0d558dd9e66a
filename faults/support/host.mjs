/** A host of either era over HTTP, as plain as can be: it counts the answers it gets and believes nothing. */
import { Agent, request } from "node:http";

const META = "io.modelcontextprotocol/";
export const META_OF_MODERN = {
  [`${META}protocolVersion`]: "2026-07-28",
  [`${META}clientInfo`]: { name: "faults", version: "1" },
  [`${META}clientCapabilities`]: {},
};

/**
 * Idle connections are closed here after this time (ms). The gateway announces 5 s and keeps them for 7; without a time of
 * its own, Node's agent reuses them until it has read the FIN, which a script that writes large messages does late.
 */
const IDLE_MS = 3_000;

export const newAgent = (options = {}) =>
  new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, timeout: IDLE_MS, ...options });

export class Host {
  #lastId = 0;
  #session;
  /** @param {"legacy" | "modern"} era */
  constructor(url, era, agent = newAgent(), headers = {}) {
    this.url = new URL(url);
    this.era = era;
    this.agent = agent;
    this.extra = headers;
    /** What each request of the new era says of its sender. */
    this.meta = META_OF_MODERN;
  }

  static async open(url, era, agent, headers) {
    const host = new Host(url, era, agent, headers);
    await host.open();
    return host;
  }

  async open(capabilities = {}) {
    if (this.era === "modern") return this;
    const { headers, message } = await this.send("initialize", {
      protocolVersion: "2025-11-25",
      capabilities,
      clientInfo: { name: "faults", version: "1" },
    });
    if (message?.result === undefined) throw new Error(`no session: ${JSON.stringify(message)}`);
    this.#session = headers["mcp-session-id"];
    await this.tell("notifications/initialized");
    return this;
  }

  get session() {
    return this.#session;
  }

  headersOf(method, name) {
    const common = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    if (this.era === "legacy") {
      return this.#session === undefined
        ? { ...common, ...this.extra }
        : {
            ...common,
            ...this.extra,
            "mcp-session-id": this.#session,
            "mcp-protocol-version": "2025-11-25",
          };
    }
    return {
      ...common,
      ...this.extra,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(name !== undefined && { "mcp-name": name }),
    };
  }

  /**
   * Sends one request. Resolves with what came, `messages` being all of it and `message` the response; rejects when
   * the connection fails. `hear` is called with each message, `began` with the HTTP request.
   */
  send(method, params = {}, { hear, began, id = ++this.#lastId } = {}) {
    const full = this.era === "modern" ? { ...params, _meta: { ...params._meta, ...this.meta } } : params;
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params: full });
    return this.#post(body, this.headersOf(method, full.name ?? full.uri), { id, hear, began });
  }

  tell(method, params) {
    const body = JSON.stringify({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
    return this.#post(body, this.headersOf(method), {});
  }

  call(name, args = {}, options = {}) {
    const params = { name, arguments: args, ...(options.meta !== undefined && { _meta: options.meta }) };
    return this.send("tools/call", params, options);
  }

  /** All pages of a list. */
  async list(kind) {
    const items = [];
    let cursor;
    do {
      const { message } = await this.send(`${kind}/list`, cursor === undefined ? {} : { cursor });
      if (message.result === undefined) throw new Error(JSON.stringify(message));
      items.push(...message.result[kind]);
      cursor = message.result.nextCursor;
    } while (cursor !== undefined);
    return items;
  }

  /**
   * Opens an event stream: a GET in the old era, `subscriptions/listen` in the new one. Resolves when its head is
   * there; `hear` gets each message, `ended` is called when it is over.
   */
  stream({ hear = () => {}, ended = () => {}, notifications = { toolsListChanged: true } } = {}) {
    const modern = this.era === "modern";
    const id = ++this.#lastId;
    const body = modern
      ? JSON.stringify({
          jsonrpc: "2.0",
          id,
          method: "subscriptions/listen",
          params: { notifications, _meta: META_OF_MODERN },
        })
      : undefined;
    const headers = modern
      ? { ...this.headersOf("subscriptions/listen"), "content-length": Buffer.byteLength(body) }
      : { ...this.headersOf(), accept: "text/event-stream" };
    return new Promise((resolve, reject) => {
      const asking = request(
        this.url,
        { method: modern ? "POST" : "GET", headers, agent: false },
        (response) => {
          const events = eventReader(hear);
          response.on("data", events);
          response.on("error", () => {});
          response.on("close", () => ended());
          resolve({
            status: response.statusCode,
            headers: response.headers,
            response,
            stop: async () => void asking.destroy(),
          });
        },
      );
      asking.on("error", reject);
      asking.end(body);
    });
  }

  async close() {
    if (this.#session === undefined) return;
    await new Promise((resolve, reject) => {
      const asking = request(
        this.url,
        { method: "DELETE", headers: this.headersOf(), agent: this.agent },
        (response) => {
          response.resume();
          response.on("end", resolve);
        },
      );
      asking.on("error", reject);
      asking.end();
    });
  }

  #post(body, headers, { id, hear, began }) {
    const sent = performance.now();
    return new Promise((resolve, reject) => {
      const asking = request(
        this.url,
        {
          method: "POST",
          agent: this.agent,
          headers: { ...headers, "content-length": Buffer.byteLength(body) },
        },
        (response) => {
          const messages = [];
          const take = (message) => {
            messages.push(message);
            hear?.(message);
          };
          const streams = response.headers["content-type"]?.startsWith("text/event-stream") === true;
          const chunks = [];
          const events = eventReader(take);
          response.on("data", (chunk) => (streams ? events(chunk) : chunks.push(chunk)));
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString("utf8");
            try {
              if (!streams && text !== "") take(JSON.parse(text));
            } catch (error) {
              reject(error);
              return;
            }
            const answers = messages.filter(
              (message) => message.method === undefined && (message.id === id || message.id === undefined),
            );
            resolve({
              status: response.statusCode,
              headers: response.headers,
              messages,
              message: answers[0],
              answers: answers.length,
              ms: performance.now() - sent,
            });
          });
        },
      );
      asking.on("error", (error) => {
        // Whether the connection had served another request before.
        error.reused = asking.reusedSocket;
        reject(error);
      });
      asking.end(body);
      began?.(asking);
    });
  }
}

/** Sends one message and waits until it was taken. */
export function post(url, message, agent) {
  const body = JSON.stringify(message);
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const asking = request(url, { method: "POST", agent, headers }, (response) => {
      response.resume();
      response.on("end", resolve);
    });
    asking.on("error", reject);
    asking.end(body);
  });
}

/** Takes chunks of an event stream and calls `hear` with each message in it. */
function eventReader(hear) {
  let rest = "";
  return (chunk) => {
    rest += chunk.toString("utf8");
    for (let at = rest.indexOf("\n\n"); at >= 0; at = rest.indexOf("\n\n")) {
      const data = rest
        .slice(0, at)
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trimStart())
        .join("\n");
      rest = rest.slice(at + 2);
      if (data !== "") hear(JSON.parse(data));
    }
  };
}

/** The first text of a tool's result. */
export const textOf = (message) => message?.result?.content?.[0]?.text;

/** What the gateway says of a refusal, wherever it says it. */
export const refusalOf = (message) =>
  message?.result?._meta?.["cardea/refusal"] ?? message?.error?.data?.cardea;
