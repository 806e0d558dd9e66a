/** A server at the other end of a channel, in memory: a test says what it answers, says by itself, and when it ends. */

import type { ServerConfig, TransportConfig } from "../../src/config/config.js";
import { GatewayError } from "../../src/core/errors.js";
import type { StopSignal } from "../../src/core/stop.js";
import type { OpenChannel } from "../../src/upstream/supervision/connect.js";
import type { TransportKind } from "../../src/upstream/supervision/era-cache.js";
import {
  type Channel,
  type ChannelResponse,
  type ExchangeOptions,
  type Headers,
  HttpStatusError,
} from "../../src/upstream/transport/channel.js";
import type { Envelope, MessageId, Notification, Request } from "../../src/wire/envelope.js";
import type { JsonObject } from "../../src/wire/json.js";

/** Thrown by a method: the server answers with this error. */
export class RpcFailure extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: unknown,
    readonly status = 200,
  ) {
    super(message);
  }
}

/** Thrown by a method: the server answers with a status and something that is no response. */
export class HttpFailure extends Error {
  constructor(
    readonly status: number,
    readonly body = "",
  ) {
    super(`HTTP status ${status}`);
  }
}

/** Thrown by a method: the process ends. */
export class ProcessEnd extends Error {}

/** Returned by a method: there is never an answer. */
export const SILENCE = new Promise<never>(() => {});

/** One request as the server sees it. */
export interface Asked {
  readonly id: MessageId;
  readonly headers: Headers;
  readonly channel: FakeChannel;
  /** Aborted when the gateway stops to wait for the answer. */
  readonly signal: StopSignal | undefined;
  /** Says something before the answer: on the request's own stream where there are streams. */
  say(method: string, params?: JsonObject): void;
  /** Asks the gateway something, on the same stream, and waits for the response. */
  ask(method: string, params?: JsonObject): Promise<Envelope>;
}

export type Method = (params: JsonObject, asked: Asked) => JsonObject | Promise<JsonObject>;

export interface Received {
  readonly message: Envelope;
  readonly headers: Headers;
  readonly channel: number;
}

export class FakeServer {
  /** Every message it got, in order. */
  readonly received: Received[] = [];
  /** Every channel that was opened to it, in order. */
  readonly channels: FakeChannel[] = [];
  readonly methods = new Map<string, Method>();
  /** Thrown when a channel is opened, while set. */
  refusal: GatewayError | undefined;
  /** HTTP response headers of every answer. */
  responseHeaders: Headers = {};
  stderr = "";
  /** How long (ms) its process takes to end when it is asked to. */
  endsAfterMs = 0;
  /** False for servers that answer a GET with 405. */
  hasEventStream = true;

  readonly openChannel: OpenChannel = async (way) => {
    if (this.refusal !== undefined) throw this.refusal;
    const channel = new FakeChannel(this, way, this.channels.length);
    this.channels.push(channel);
    return channel;
  };

  on(method: string, answer: Method | JsonObject): this {
    this.methods.set(method, typeof answer === "function" ? answer : () => answer);
    return this;
  }

  /** The channel that was opened last. */
  get channel(): FakeChannel {
    const channel = this.channels.at(-1);
    if (channel === undefined) throw new Error("nobody has opened a channel yet");
    return channel;
  }

  /** The last message of all. */
  get last(): Received {
    const last = this.received.at(-1);
    if (last === undefined) throw new Error("the server got nothing yet");
    return last;
  }

  /** All messages of one method, in order. */
  sent(method: string): readonly Received[] {
    return this.received.filter(({ message }) => message.method === method);
  }

  /** The parameters of the last message of `method`. */
  params(method: string): JsonObject {
    return this.sent(method).at(-1)?.message.params ?? {};
  }
}

export class FakeChannel implements Channel {
  readonly association: "stream" | "pipe";
  readonly closed: Promise<GatewayError>;
  readonly listeners = new Set<(message: Envelope) => void>();
  /** Headers of the event streams that are open now. */
  readonly listening = new Set<Headers>();
  /** Listeners for a changed address. */
  readonly whenMoved = new Set<() => void>();
  farewell: Headers | undefined;
  isClosed = false;
  /** Its process, if it had one, is gone. */
  isGone = false;
  #over: GatewayError | undefined;
  #settle: (error: GatewayError) => void = () => {};
  readonly #waiting = new Set<(error: GatewayError) => void>();
  readonly #questions = new Map<MessageId, (response: Envelope) => void>();
  #lastQuestion = 0;

  constructor(
    readonly server: FakeServer,
    readonly way: TransportKind,
    readonly number: number,
  ) {
    this.association = way === "http" ? "stream" : "pipe";
    this.closed = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  get stderr(): string {
    return this.server.stderr;
  }

  async exchange(request: Request, options: ExchangeOptions = {}): Promise<ChannelResponse> {
    const { signal } = options;
    if (this.#over !== undefined) throw this.#over;
    if (signal?.aborted === true) throw cancelled();
    this.server.received.push({ message: request, headers: options.headers ?? {}, channel: this.number });
    return new Promise((resolve, reject) => {
      const fail = (error: GatewayError): void => {
        this.#waiting.delete(fail);
        signal?.removeEventListener("abort", stop);
        reject(error);
      };
      const stop = (): void => fail(cancelled());
      signal?.addEventListener("abort", stop, { once: true });
      this.#waiting.add(fail);
      this.#answer(request, options).then((answer) => {
        if (!this.#waiting.delete(fail)) return;
        signal?.removeEventListener("abort", stop);
        resolve(answer);
      }, fail);
    });
  }

  async post(message: Notification | Envelope, options?: { readonly headers?: Headers }): Promise<void> {
    if (this.#over !== undefined) throw this.#over;
    this.server.received.push({ message, headers: options?.headers ?? {}, channel: this.number });
    if (message.method === undefined && message.id !== undefined) {
      this.#questions.get(message.id)?.(message);
      this.#questions.delete(message.id);
    }
    if (message.method !== undefined) {
      await this.server.methods.get(message.method)?.(message.params ?? {}, this.#asked(0, {}));
    }
  }

  listen(
    hear: (message: Envelope) => void,
    options?: { readonly headers?: Headers },
  ): { readonly opened: Promise<boolean>; stop(): void } {
    if (this.association === "stream" && !this.server.hasEventStream) {
      return { opened: Promise.resolve(false), stop: () => {} };
    }
    const headers = { ...options?.headers };
    this.listeners.add(hear);
    this.listening.add(headers);
    return {
      opened: Promise.resolve(true),
      stop: () => {
        this.listeners.delete(hear);
        this.listening.delete(headers);
      },
    };
  }

  onAddressChange(hear: () => void): () => void {
    this.whenMoved.add(hear);
    return () => void this.whenMoved.delete(hear);
  }

  /** Says something that belongs to no request: on the pipe, or on the event stream. */
  say(method: string, params?: JsonObject): void {
    this.#hear({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) });
  }

  /** Asks something in the same way. */
  ask(method: string, params?: JsonObject): Promise<Envelope> {
    return this.#question(method, params, (message) => this.#hear(message));
  }

  /** The process or the connection is gone. */
  end(why = "exited with code 1"): void {
    this.isGone = true;
    this.#settle(this.#fail(why));
  }

  /** Nothing more can come of it, although its process still runs. */
  breakOff(why = "closed its output"): void {
    this.#settle(this.#fail(why));
  }

  #fail(why: string): GatewayError {
    const error = new GatewayError("upstream_closed", "upstream", `the server ${why}`, { retryable: true });
    this.#over ??= error;
    for (const fail of [...this.#waiting]) fail(error);
    return this.#over;
  }

  async close(farewell?: { readonly headers: Headers }): Promise<void> {
    this.farewell ??= farewell?.headers;
    this.isClosed = true;
    this.#fail("was closed by the gateway");
    const { endsAfterMs } = this.server;
    if (endsAfterMs > 0 && !this.isGone) await new Promise((resolve) => setTimeout(resolve, endsAfterMs));
    this.end("was closed by the gateway");
  }

  async #answer(request: Request, options: ExchangeOptions): Promise<ChannelResponse> {
    const method = this.server.methods.get(request.method);
    const answer = (message: Partial<Envelope>, status: number): ChannelResponse => {
      const headers = this.server.responseHeaders;
      return {
        message: { jsonrpc: "2.0", id: request.id, ...message },
        status,
        header: (name) => headers[name],
      };
    };
    try {
      if (method === undefined) throw new RpcFailure(-32601, `no method ${request.method}`);
      // A server answers later than it is asked, always.
      await Promise.resolve();
      const result = await method(request.params ?? {}, this.#asked(request.id, options));
      return answer({ result }, 200);
    } catch (error) {
      if (error instanceof RpcFailure) {
        const { code, message, data, status } = error;
        return answer({ error: { code, message, ...(data !== undefined && { data }) } }, status);
      }
      if (error instanceof HttpFailure) {
        throw new GatewayError("upstream_unavailable", "upstream", error.message, {
          cause: new HttpStatusError(error.status, error.body, {}),
        });
      }
      if (error instanceof ProcessEnd) {
        this.end();
        return SILENCE;
      }
      throw error;
    }
  }

  #asked(id: MessageId, options: ExchangeOptions): Asked {
    const hear = (message: Envelope): void => {
      if (this.association === "pipe") this.#hear(message);
      else options.onMessage?.(message);
    };
    return {
      id,
      headers: options.headers ?? {},
      channel: this,
      signal: options.signal,
      say: (method, params) => hear({ jsonrpc: "2.0", method, ...(params !== undefined && { params }) }),
      ask: (method, params) => this.#question(method, params, hear),
    };
  }

  #question(
    method: string,
    params: JsonObject | undefined,
    send: (message: Envelope) => void,
  ): Promise<Envelope> {
    this.#lastQuestion += 1;
    const id = `question-${this.#lastQuestion}`;
    return new Promise((resolve) => {
      this.#questions.set(id, resolve);
      send({ jsonrpc: "2.0", id, method, ...(params !== undefined && { params }) });
    });
  }

  #hear(message: Envelope): void {
    for (const hear of [...this.listeners]) hear(message);
  }
}

export interface FakeFacts {
  readonly capabilities?: JsonObject;
  readonly serverInfo?: JsonObject;
  readonly instructions?: string;
}

const EVERYTHING: JsonObject = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  logging: {},
  completions: {},
};

/** A server that is opened by `initialize` and knows nothing of `server/discover`. */
export function legacyServer({
  capabilities = EVERYTHING,
  serverInfo,
  instructions,
}: FakeFacts = {}): FakeServer {
  return new FakeServer()
    .on("initialize", (params) => ({
      protocolVersion: params.protocolVersion,
      capabilities,
      serverInfo: serverInfo ?? { name: "old", version: "1" },
      ...(instructions !== undefined && { instructions }),
    }))
    .on("ping", {});
}

/** A server of 2026-07-28. */
export function modernServer({
  capabilities = EVERYTHING,
  serverInfo,
  instructions,
}: FakeFacts = {}): FakeServer {
  return new FakeServer().on("server/discover", {
    resultType: "complete",
    supportedVersions: ["2026-07-28"],
    capabilities,
    _meta: { "io.modelcontextprotocol/serverInfo": serverInfo ?? { name: "new", version: "2" } },
    ...(instructions !== undefined && { instructions }),
    ttlMs: 0,
    cacheScope: "public",
  });
}

const STDIO: TransportConfig = { kind: "stdio", command: "server", args: [], env: {}, cwd: "/" };
export const HTTP = {
  kind: "http",
  url: "http://127.0.0.1:1/mcp",
  headers: {},
  sse: false,
} as const satisfies TransportConfig;

const ALL = { allow: ["*"], deny: [] };

/** The config of a server named `files` on a pipe, unless `changes` say otherwise. */
export function serverConfig(changes: Partial<ServerConfig> = {}): ServerConfig {
  return {
    name: "files",
    transport: STDIO,
    prefix: "files",
    protocol: "auto",
    lease: "auto",
    start: "eager",
    idleTimeoutMs: 600_000,
    required: false,
    timeoutMs: 300_000,
    connectTimeoutMs: 30_000,
    tools: ALL,
    prompts: ALL,
    resources: ALL,
    features: {},
    ...changes,
  };
}

const cancelled = (): GatewayError => new GatewayError("cancelled", "downstream", "the call was cancelled");
