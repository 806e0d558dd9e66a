/** A legacy edge behind a real HTTP server, and hosts that speak to it with plain requests. */
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { onTestFinished } from "vitest";
import { ANONYMOUS, type Principal } from "../../../src/core/client.js";
import {
  createLegacyEdge,
  type LegacyEdge,
  type LegacyEdgeOptions,
} from "../../../src/downstream/legacy/edge.js";
import { parseDocument, type Request } from "../../../src/wire/envelope.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { writeJson } from "../../../src/wire/json-text.js";
import { type FakePort, type FakePortOptions, fakePort } from "../../support/fake-port.js";

export interface EdgeServer {
  readonly edge: LegacyEdge;
  readonly port: FakePort;
  readonly url: string;
  /** An initialized host. */
  host(options?: HostOptions): Promise<Host>;
}

export interface HostOptions {
  readonly version?: string;
  readonly capabilities?: JsonObject;
  /** Sent as a header, which the server believes. */
  readonly principal?: string;
  readonly scope?: string;
  /** Without `notifications/initialized`. */
  readonly raw?: boolean;
}

/** Runs until the test is over. */
export async function edgeServer(
  portOptions: FakePortOptions = {},
  edgeOptions: Partial<LegacyEdgeOptions> = {},
): Promise<EdgeServer> {
  const gateway = fakePort(portOptions);
  const edge = createLegacyEdge({
    gateway,
    sessions: { max: 100, idleMs: 60_000 },
    keepAliveMs: 15_000,
    ...edgeOptions,
  });
  // A stall of five seconds, for which Node keeps a silent connection, must not close it.
  const server = createServer({ keepAliveTimeout: 75_000 }, async (request, response) => {
    const id = request.headers["x-principal"];
    const principal: Principal = typeof id === "string" ? { ...ANONYMOUS, id } : ANONYMOUS;
    const challenge = (scopes: readonly string[]) => `Bearer scope="${scopes.join(" ")}"`;
    const exchange = { request, response, principal, endpoint: request.url?.slice(1) ?? "", challenge };
    if (request.method === "GET") await edge.get(exchange);
    else if (request.method === "DELETE") await edge.delete(exchange);
    else await edge.post({ ...exchange, message: parseDocument(await bodyOf(request)) });
  });
  const url = await listen(server);
  onTestFinished(async () => {
    await edge.close();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return { edge, port: gateway, url, host: (options) => openHost(url, options) };
}

/** An edge with one host. */
export async function edgeHost(
  portOptions: FakePortOptions = {},
  hostOptions: HostOptions = {},
  edgeOptions: Partial<LegacyEdgeOptions> = {},
) {
  const server = await edgeServer(portOptions, edgeOptions);
  return { server, host: await server.host(hostOptions) };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Anything that came back, as a test wants to look at it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: unknown;
  readonly text: string;
}

export interface Message {
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: JsonObject;
  readonly result?: JsonObject;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: JsonObject };
}

export class Host {
  constructor(
    readonly url: string,
    readonly headers: Record<string, string>,
    readonly initialize: JsonObject,
  ) {}

  get sessionId(): string {
    return this.headers["mcp-session-id"] ?? "";
  }

  /** Posts anything and waits for the whole answer. */
  async post(body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return answerOf(await this.open(body, headers));
  }

  /** Posts anything and leaves the answer to be read. */
  open(body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    return fetch(this.url, {
      method: "POST",
      headers: { ...JSON_HEADERS, ...this.headers, ...headers },
      body: writeJson(body),
      ...(signal && { signal }),
    });
  }

  async request(method: string, params: JsonObject = {}, id: string | number = 1): Promise<Message> {
    const answer = await this.post({ jsonrpc: "2.0", id, method, params });
    return answer.json as Message;
  }

  notify(method: string, params?: JsonObject): Promise<Answer> {
    return this.post({ jsonrpc: "2.0", method, ...(params && { params }) });
  }

  respond(id: unknown, result: JsonObject): Promise<Answer> {
    return this.post({ jsonrpc: "2.0", id, result });
  }

  async get(headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    return fetch(this.url, {
      headers: { accept: "text/event-stream", ...this.headers, ...headers },
      ...(signal && { signal }),
    });
  }

  /** An open GET stream. */
  async listen(headers: Record<string, string> = {}): Promise<Events> {
    return new Events(await this.get(headers));
  }

  async delete(): Promise<Answer> {
    return answerOf(await fetch(this.url, { method: "DELETE", headers: this.headers }));
  }
}

const JSON_HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get("content-type") === "application/json";
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}

export const initializeMessage = (options: HostOptions = {}): Request => ({
  jsonrpc: "2.0",
  id: "init",
  method: "initialize",
  params: {
    protocolVersion: options.version ?? "2025-11-25",
    capabilities: options.capabilities ?? {},
    clientInfo: { name: "test-host", version: "1" },
  },
});

async function openHost(base: string, options: HostOptions = {}): Promise<Host> {
  const url = base + (options.scope ?? "");
  const who: Record<string, string> =
    options.principal === undefined ? {} : { "x-principal": options.principal };
  const answer = await new Host(url, who, {}).post(initializeMessage(options));
  const id = answer.headers.get("mcp-session-id");
  if (answer.status !== 200 || id === null)
    throw new Error(`initialize failed: ${answer.status} ${answer.text}`);
  const result = (answer.json as Message).result ?? {};
  const version = String(result.protocolVersion);
  const host = new Host(url, { ...who, "mcp-session-id": id, "mcp-protocol-version": version }, result);
  if (options.raw !== true) await host.notify("notifications/initialized");
  return host;
}

/** The events of one response, read one by one. */
export class Events {
  readonly #ready: EventSourceMessage[] = [];
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #parser = createParser({
    onEvent: (event) => void this.#ready.push(event),
    onRetry: (ms) => {
      this.retry = ms;
    },
  });
  retry: number | undefined;
  lastId: string | undefined;
  #ended = false;

  constructor(readonly response: Response) {
    if (response.body === null) throw new Error("there is no body");
    this.#reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  }

  /** The next event, or undefined at the end. */
  async event(): Promise<EventSourceMessage | undefined> {
    while (this.#ready.length === 0 && !this.#ended) {
      const { done, value } = await this.#reader.read();
      if (value !== undefined) this.#parser.feed(this.#decoder.decode(value, { stream: true }));
      if (done) this.#ended = true;
    }
    const event = this.#ready.shift();
    if (event?.id !== undefined) this.lastId = event.id;
    return event;
  }

  /** The next message; events without data are passed over. */
  async message(): Promise<Message> {
    for (let event = await this.event(); event !== undefined; event = await this.event()) {
      if (event.data !== "") return JSON.parse(event.data) as Message;
    }
    throw new Error("the stream has ended");
  }

  /** Everything to the end. */
  async rest(): Promise<readonly Message[]> {
    const messages: Message[] = [];
    for (let event = await this.event(); event !== undefined; event = await this.event()) {
      if (event.data !== "") messages.push(JSON.parse(event.data) as Message);
    }
    return messages;
  }

  /** Drops the connection. */
  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}
