/** Hosts for tests of several workers: a new connection for every request, so that any worker may get it. */
import { type IncomingHttpHeaders, request as openRequest } from "node:http";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The body where it is one document, else the last event of the stream. */
  readonly message: Message;
}

export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly result?: {
    readonly content?: readonly { readonly text?: string }[];
    readonly resultType?: string;
    readonly inputRequests?: object;
    readonly requestState?: string;
    readonly [more: string]: unknown;
  };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

interface Sending {
  readonly method?: string;
  /** Names and values by turns, so that a name can stand there twice. */
  readonly headers?: readonly string[];
  readonly body?: object | string;
  /** Hears every message of an event stream as it comes. */
  readonly hear?: (message: Message) => void;
  readonly signal?: AbortSignal;
}

export function send(
  address: string,
  { method = "POST", headers = [], body, hear, signal }: Sending,
): Promise<Answer> {
  const url = new URL(address);
  const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
  const own = [
    ...(headers.some((name) => name.toLowerCase() === "host") ? [] : ["host", url.host]),
    ...["accept", "application/json, text/event-stream"],
    ...(text === undefined
      ? []
      : ["content-type", "application/json", "content-length", String(Buffer.byteLength(text))]),
  ];
  return new Promise((resolve, reject) => {
    const request = openRequest(
      {
        host: url.hostname,
        port: url.port,
        path: url.pathname + url.search,
        method,
        agent: false,
        setHost: false,
        headers: [...own, ...headers],
        ...(signal && { signal }),
      },
      (response) => {
        const chunks: string[] = [];
        let rest = "";
        let last = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          chunks.push(chunk);
          if (!response.headers["content-type"]?.startsWith("text/event-stream")) return;
          const events = (rest + chunk).split("\n\n");
          rest = events.pop() ?? "";
          for (const event of events) {
            const data = /^data: ?(\S.*)$/m.exec(event)?.[1];
            if (data === undefined) continue;
            last = data;
            hear?.(JSON.parse(data) as Message);
          }
        });
        response.once("end", () => {
          const whole = last === "" ? chunks.join("") : last;
          const message = (whole.startsWith("{") ? JSON.parse(whole) : {}) as Message;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, message });
        });
        response.once("error", reject);
      },
    );
    request.once("error", reject);
    request.end(text);
  });
}

export interface LegacyHost {
  readonly session: string;
  readonly headers: readonly string[];
  call(name: string, args: object, hear?: (message: Message) => void): Promise<Answer>;
  /** Sends whatever else. */
  post(body: object): Promise<Answer>;
}

let lastId = 0;

export async function legacyHost(
  url: string,
  capabilities: object = {},
  more: readonly string[] = [],
): Promise<LegacyHost> {
  const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "test", version: "1" } };
  const body = { jsonrpc: "2.0", id: 0, method: "initialize", params };
  const opened = await send(url, { body, headers: more });
  const session = String(opened.headers["mcp-session-id"]);
  const headers = ["mcp-session-id", session, "mcp-protocol-version", "2025-11-25", ...more];
  const post = (message: object): Promise<Answer> => send(url, { body: message, headers });
  await post({ jsonrpc: "2.0", method: "notifications/initialized" });
  return {
    session,
    headers,
    post,
    call(name, args, hear) {
      lastId += 1;
      const call = { jsonrpc: "2.0", id: lastId, method: "tools/call", params: { name, arguments: args } };
      return send(url, { body: call, headers, ...(hear && { hear }) });
    },
  };
}

const PREFIX = "io.modelcontextprotocol/";

/** A request of 2026-07-28, by whoever. */
export function modern(
  url: string,
  method: string,
  params: object,
  options: {
    readonly capabilities?: object;
    readonly name?: string;
    readonly headers?: readonly string[];
    readonly hear?: (message: Message) => void;
    readonly signal?: AbortSignal;
  } = {},
): Promise<Answer> {
  lastId += 1;
  const _meta = {
    [`${PREFIX}protocolVersion`]: "2026-07-28",
    [`${PREFIX}clientInfo`]: { name: "test", version: "1" },
    [`${PREFIX}clientCapabilities`]: options.capabilities ?? {},
  };
  const headers = [
    "mcp-protocol-version",
    "2026-07-28",
    "mcp-method",
    method,
    ...(options.name === undefined ? [] : ["mcp-name", options.name]),
    ...(options.headers ?? []),
  ];
  const body = { jsonrpc: "2.0", id: lastId, method, params: { ...params, _meta } };
  return send(url, {
    body,
    headers,
    ...(options.hear && { hear: options.hear }),
    ...(options.signal && { signal: options.signal }),
  });
}

export const textOf = ({ message }: Answer): string | undefined => message.result?.content?.[0]?.text;
