/** Raw HTTP towards a listener: what a host of either era sends, and everything no well-behaved host would. */
import { once } from "node:events";
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import type { JsonObject } from "../../src/wire/json.js";
import { META, MODERN_REVISION } from "../../src/wire/names.js";

export const JSON_HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
} as const;

export interface Sent {
  readonly method?: string;
  /** As an object, or names and values in turn, which are then all that is sent. */
  readonly headers?: Readonly<Record<string, string>> | readonly string[];
  readonly body?: string | Uint8Array;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The body as JSON. */
  readonly json: () => JsonObject;
  /** The messages of an event stream. */
  readonly events: () => readonly JsonObject[];
}

/** Sends one request on a connection of its own and waits for the whole answer. */
export async function send(url: string, { method = "POST", headers = {}, body }: Sent = {}): Promise<Answer> {
  const response = await open(url, { method, headers, ...(body !== undefined && { body }) });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    json: () => JSON.parse(text) as JsonObject,
    events: () => eventsOf(text),
  };
}

/** Sends one request and resolves as soon as its head is there; the caller reads or destroys the body. */
export function open(
  url: string,
  { method = "POST", headers = {}, body }: Sent = {},
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, agent: false, headers });
    request.once("response", resolve);
    request.once("error", reject);
    request.end(body);
  });
}

/** Writes raw bytes and resolves to everything that comes back until the other side closes. */
export function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    let heard = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      heard += chunk;
    });
    socket.once("error", reject);
    socket.once("close", () => resolve(heard));
  });
}

/** Reads an event stream from now on; resolves with all its messages once there are this many. */
export function hearing(stream: IncomingMessage): (count: number) => Promise<readonly JsonObject[]> {
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return async (count) => {
    while (eventsOf(text).length < count) await once(stream, "data");
    return eventsOf(text);
  };
}

/** The messages in the text of an event stream, as far as they are whole. */
function eventsOf(text: string): readonly JsonObject[] {
  return text
    .slice(0, text.lastIndexOf("\n\n") + 2)
    .split("\n\n")
    .map((event) => event.split("\n").filter((line) => line.startsWith("data:")))
    .filter((lines) => lines.length > 0)
    .map((lines) => JSON.parse(lines.map((line) => line.slice(5)).join("\n")) as JsonObject);
}

/** The reserved keys that every modern request carries. */
export const modernMeta = (capabilities: JsonObject = {}): JsonObject => ({
  [META.protocolVersion]: MODERN_REVISION,
  [META.clientCapabilities]: capabilities,
  [META.clientInfo]: { name: "test-host", version: "1.0.0" },
});

/** A modern request as a well-behaved host sends it; `meta` and `headers` are added or replace what is there. */
export function modernRequest(
  method: string,
  params: JsonObject = {},
  {
    id = 1,
    meta = {},
    headers = {},
  }: { id?: string | number; meta?: JsonObject; headers?: Record<string, string> } = {},
): Sent & { readonly body: string; readonly headers: Readonly<Record<string, string>> } {
  const name = params.name ?? params.uri;
  return {
    body: JSON.stringify({
      jsonrpc: "2.0",
      id,
      method,
      params: { ...params, _meta: { ...modernMeta(), ...meta } },
    }),
    headers: {
      ...JSON_HEADERS,
      "mcp-protocol-version": MODERN_REVISION,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
      ...headers,
    },
  };
}
