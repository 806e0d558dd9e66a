/** How the messages of a host travel: Streamable HTTP, or a pipe. Nothing is checked or added. */
import { Agent, request } from "node:http";
import { createInterface } from "node:readline";
import { createParser } from "eventsource-parser";

/**
 * Idle connections are closed after this time (ms). The gateway announces 5 s and keeps them for 7; Node's agent would
 * reuse them until it has read the FIN, which a process that writes large messages does late.
 */
const IDLE_MS = 3_000;

export const newAgent = (options = {}) =>
  new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, timeout: IDLE_MS, ...options });

/** A request whose response has not begun within this time (ms) fails with what it asked for, before its test runs out of time. */
const NO_RESPONSE_MS = 240_000;

const VERSION_META = "io.modelcontextprotocol/protocolVersion";
/** Modern requests that name their target in a header; those of tasks by SEP-2663. */
const NAMED = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
  "tasks/get",
  "tasks/update",
  "tasks/cancel",
]);

export const isResponse = (message) => "result" in message || "error" in message;

/** A response without a JSON-RPC response in it, such as a refusal of the transport. */
export class UnexpectedStatus extends Error {
  name = "UnexpectedStatus";
  constructor(status, body) {
    super(`HTTP ${status}: ${body.slice(0, 200)}`);
    Object.assign(this, { status, body });
  }
}

/** Plain where a header can carry the text, else in the sentinel form of Base64. */
const headerValue = (text) =>
  /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?")
    ? text
    : `=?base64?${Buffer.from(text).toString("base64")}?=`;

/** The headers that mirror a modern message (2026-07-28, streamable HTTP, "Request Metadata"); none for a legacy one. */
export function mirrored({ method, params }) {
  const version = params?._meta?.[VERSION_META];
  if (typeof version !== "string") return {};
  const name = params.name ?? params.uri ?? params.taskId;
  return {
    "mcp-protocol-version": version,
    "mcp-method": String(method),
    ...(NAMED.has(method) && typeof name === "string" && { "mcp-name": headerValue(name) }),
  };
}

/** Calls `onEvent` with each event of the stream that has data: the others only give an id to resume from. */
async function readEvents(body, onEvent) {
  const parser = createParser({ onEvent: (event) => event.data !== "" && onEvent(event) });
  const decoder = new TextDecoder();
  for await (const chunk of body) parser.feed(decoder.decode(chunk, { stream: true }));
}

async function textOf(response) {
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

const typeOf = ({ headers }) => headers["content-type"] ?? "";

/** Streamable HTTP; `always` goes with each request. The session and the revision are those that `initialize` agreed on. */
export function httpWire(url, always = {}, codec = {}) {
  const { agent = newAgent(), parse = JSON.parse, stringify = JSON.stringify } = codec;
  const target = new URL(url);
  let session;
  let version;
  const headersOf = (message = {}) => ({
    ...always,
    ...(session !== undefined && { "mcp-session-id": session }),
    ...(version !== undefined && { "mcp-protocol-version": version }),
    ...mirrored(message),
  });

  const open = (method, headers, body, { signal, onRequest, ownConnection = false } = {}) =>
    new Promise((resolve, reject) => {
      const options = { method, headers, agent: ownConnection ? false : agent, ...(signal && { signal }) };
      const outgoing = request(target, options, (response) => {
        const issued = response.headers["mcp-session-id"];
        if (typeof issued === "string") session ??= issued;
        resolve(response);
      });
      // `reused`: whether the connection had served another request before.
      outgoing.on("error", (error) => reject(Object.assign(error, { reused: outgoing.reusedSocket })));
      const begun = setTimeout(
        () => outgoing.destroy(new Error(`no response to ${method} ${String(body).slice(0, 200)}`)),
        NO_RESPONSE_MS,
      ).unref();
      outgoing.once("close", () => clearTimeout(begun)).once("response", () => clearTimeout(begun));
      outgoing.end(body);
      onRequest?.(outgoing);
    });
  const post = (message, options = {}) => {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headersOf(message),
      ...options.headers,
    };
    return open("POST", headers, stringify(message), options);
  };

  return {
    onPipe: false,
    headersOf,
    get session() {
      return session;
    },
    async exchange(message, options = {}) {
      const sent = performance.now();
      const response = await post(message, options);
      const messages = [];
      const isAnswer = (one) => isResponse(one) && (one.id === message.id || (one.id ?? null) === null);
      let text = "";
      if (typeOf(response).startsWith("text/event-stream")) {
        await readEvents(response, ({ data }) => {
          const one = parse(data);
          messages.push(one);
          if (!isAnswer(one)) options.onMessage?.(one);
        });
      } else {
        text = await textOf(response);
        if (text !== "" && typeOf(response).startsWith("application/json")) messages.push(parse(text));
      }
      const answers = messages.filter(isAnswer);
      const agreed = answers[0]?.result?.protocolVersion;
      if (message.method === "initialize" && typeof agreed === "string") version = agreed;
      const { statusCode: status, headers } = response;
      const ms = performance.now() - sent;
      return { status, headers, text, messages, message: answers[0], answers: answers.length, ms };
    },
    async post(message, options) {
      const response = await post(message, options);
      const text = await textOf(response);
      if (response.statusCode !== 202) throw new UnexpectedStatus(response.statusCode, text);
    },
    async stream(message, { onMessage = () => {}, onEnd = () => {}, ...options } = {}) {
      const own = { ...options, ownConnection: true };
      const headers = { accept: "text/event-stream", ...headersOf(), ...options.headers };
      const response = await (message === undefined
        ? open("GET", headers, undefined, own)
        : post(message, own));
      const { statusCode: status } = response;
      const refusal = typeOf(response).startsWith("text/event-stream") ? undefined : textOf(response);
      refusal?.catch(() => {});
      if (refusal === undefined) {
        // The end looks the same whether this side or the server has ended the stream.
        readEvents(response, ({ data }) => onMessage(parse(data))).catch(() => {});
      }
      response.once("close", onEnd);
      return { status, headers: response.headers, refusal, stop: async () => void response.destroy() };
    },
    async close() {
      if (session !== undefined) await textOf(await open("DELETE", headersOf()));
    },
  };
}

/** One way for all messages: responses go to the request with their id, everything else to each listener. */
export function mixedWire(write, close) {
  const waiting = new Map();
  const listeners = new Set();
  const fail = (error) => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  return {
    onPipe: true,
    receive(message) {
      const answered = isResponse(message) ? waiting.get(message.id) : undefined;
      if (answered === undefined) for (const onMessage of [...listeners]) onMessage(message);
      else {
        waiting.delete(message.id);
        answered.resolve(message);
      }
    },
    fail,
    async exchange(message, { onMessage, signal, headers } = {}) {
      const sent = performance.now();
      if (onMessage !== undefined) listeners.add(onMessage);
      try {
        const answer = await new Promise((resolve, reject) => {
          waiting.set(message.id, { resolve, reject });
          signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
          write(message, headers).catch(reject);
        });
        const ms = performance.now() - sent;
        return { status: 200, headers: {}, text: "", messages: [answer], message: answer, answers: 1, ms };
      } finally {
        listeners.delete(onMessage);
      }
    },
    post: (message, options) => write(message, options?.headers),
    async stream(message, { onMessage = () => {} } = {}) {
      listeners.add(onMessage);
      if (message !== undefined) await write(message);
      return { status: 200, headers: {}, stop: async () => void listeners.delete(onMessage) };
    },
    close,
  };
}

/** One message per line, to `input` of the peer and from its `output`; lines that are no message are kept as `junk`. */
export function pipeWire(input, output, { parse = JSON.parse, stringify = JSON.stringify } = {}) {
  const junk = [];
  const lines = createInterface({ input: output });
  const write = async (message) => void input.write(`${stringify(message)}\n`);
  const wire = mixedWire(write, async () => {
    input.end();
    wire.fail(new Error("the wire is closed"));
    lines.close();
  });
  lines.on("line", (line) => {
    let message;
    try {
      message = parse(line);
    } catch {
      junk.push(line);
      return;
    }
    wire.receive(message);
  });
  return Object.assign(wire, { junk });
}
