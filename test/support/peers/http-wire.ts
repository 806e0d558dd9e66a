/** Raw JSON-RPC over Streamable HTTP, in whichever era the messages are written. */
import { createParser } from "eventsource-parser";
import type { Json } from "./host.js";
import { isResponse, type SendOptions, type Wire } from "./wire.js";

const MODERN_VERSION = "io.modelcontextprotocol/protocolVersion";

/** An answer that is no JSON-RPC response, such as a refusal of the transport. */
class UnexpectedStatus extends Error {
  override readonly name = "UnexpectedStatus";
  constructor(
    readonly status: number,
    readonly body: string,
  ) {
    super(`HTTP ${status}: ${body.slice(0, 200)}`);
  }
}

export interface HttpWire extends Wire {
  /** The session the server gave, after `initialize`. */
  readonly session: string | undefined;
}

/** `always`: headers that go with every request, such as credentials. */
export function httpWire(url: string, always: Readonly<Record<string, string>> = {}): HttpWire {
  let session: string | undefined;
  let version: string | undefined;

  const send = async (message: Json, { headers, signal }: SendOptions = {}): Promise<Response> => {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...sessionHeaders(),
        ...mirrored(message),
        ...headers,
      },
      body: JSON.stringify(message),
      ...(signal && { signal }),
    });
    session ??= response.headers.get("mcp-session-id") ?? undefined;
    return response;
  };
  const sessionHeaders = (): Record<string, string> => ({
    ...always,
    ...(session !== undefined && { "mcp-session-id": session }),
    ...(version !== undefined && { "mcp-protocol-version": version }),
  });

  return {
    get session() {
      return session;
    },
    async request(message, options) {
      const response = await send(message, options);
      const answer = await readAnswer(response, message.id, options?.hear);
      const agreed = (answer.result as Json | undefined)?.protocolVersion;
      if (message.method === "initialize" && typeof agreed === "string") version = agreed;
      return answer;
    },
    async post(message, options) {
      const response = await send(message, options);
      const body = await response.text();
      if (response.status !== 202) throw new UnexpectedStatus(response.status, body);
    },
    async listen(hear, options) {
      const stop = new AbortController();
      const response = await fetch(url, {
        headers: { accept: "text/event-stream", ...sessionHeaders(), ...options?.headers },
        signal: stop.signal,
      });
      if (!response.ok) throw new UnexpectedStatus(response.status, await response.text());
      // It ends when it is stopped, and whoever listens cannot tell that from an end by the server.
      readEvents(response, hear).catch(() => {});
      return () => stop.abort();
    },
    async close() {
      if (session === undefined) return;
      const response = await fetch(url, { method: "DELETE", headers: sessionHeaders() });
      await response.arrayBuffer();
    },
  };
}

/** The headers that a modern request mirrors from its body (2026-07-28, streamable HTTP, "Request Metadata"). */
function mirrored(message: Json): Record<string, string> {
  const params = message.params as Json | undefined;
  const version = (params?._meta as Json | undefined)?.[MODERN_VERSION];
  if (typeof version !== "string") return {};
  const name = params?.name ?? params?.uri ?? params?.taskId;
  const needsName = NAMED.has(String(message.method));
  return {
    "mcp-protocol-version": version,
    "mcp-method": String(message.method),
    ...(needsName && typeof name === "string" && { "mcp-name": headerValue(name) }),
  };
}

/** Requests that say in a header what they are about; those of tasks by SEP-2663. */
const NAMED: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
]);

/** Plain where a header can carry it, else in the sentinel form of Base64. */
const headerValue = (text: string): string =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?")
    ? text
    : `=?base64?${Buffer.from(text).toString("base64")}?=`;

async function readAnswer(response: Response, id: unknown, hear?: (message: Json) => void): Promise<Json> {
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("application/json")) {
    const answer = (await response.json()) as Json;
    if (isResponse(answer)) return answer;
    throw new UnexpectedStatus(response.status, JSON.stringify(answer));
  }
  if (!type.startsWith("text/event-stream"))
    throw new UnexpectedStatus(response.status, await response.text());
  let answer: Json | undefined;
  await readEvents(response, (message) => {
    if (isResponse(message) && message.id === id) answer = message;
    else hear?.(message);
  });
  if (answer === undefined) throw new Error("the stream ended before the response");
  return answer;
}

async function readEvents(response: Response, hear: (message: Json) => void): Promise<void> {
  const parser = createParser({
    onEvent: ({ data }) => {
      // An event without data exists only to give an id to resume from.
      if (data !== "") hear(JSON.parse(data) as Json);
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
}
