/** A server of either era, in this process, that keeps every request it gets to the last byte. */
import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "../../../src/wire/json.js";
import { type Arrived, serveHttp } from "../server/http.mjs";

/** A request as it came over the wire. */
export interface Received {
  readonly server: string;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  readonly method: string;
  readonly params: JsonObject;
}

export interface Offered {
  /** A name stands for a tool that takes any arguments. */
  readonly tools: readonly (JsonObject | string)[];
  readonly prompts: readonly string[];
  readonly resources: readonly string[];
  readonly templates: readonly string[];
  readonly capabilities?: JsonObject;
  /** Default: a free one. */
  readonly port?: number;
}

export interface RecordingServer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * `heard` receives every message except introductions and lists; the response waits for it. The result of `say`
 * replaces the response.
 */
export async function recordingServer(
  name: string,
  era: "legacy" | "modern",
  { tools = [], prompts = [], resources = [], templates = [], ...offered }: Partial<Offered>,
  heard: (received: Received) => void | Promise<void>,
  say: (received: Received) => JsonObject | undefined = () => undefined,
): Promise<RecordingServer> {
  const capabilities = {
    tools: {},
    prompts: {},
    resources: { subscribe: true },
    completions: {},
    ...offered.capabilities,
  };
  const answers: Readonly<Record<string, JsonObject>> = {
    "server/discover": {
      supportedVersions: ["2026-07-28"],
      capabilities,
      serverInfo: { name, version: "1" },
    },
    initialize: { protocolVersion: "2025-06-18", capabilities, serverInfo: { name, version: "1" } },
    "tools/list": {
      tools: tools.map((tool) =>
        typeof tool === "string" ? { name: tool, inputSchema: { type: "object" } } : tool,
      ),
    },
    "prompts/list": { prompts: prompts.map((prompt) => ({ name: prompt })) },
    "resources/list": { resources: resources.map((uri) => ({ uri, name: uri })) },
    "resources/templates/list": {
      resourceTemplates: templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })),
    },
    ping: {},
    "tools/call": { content: [] },
    "prompts/get": { messages: [] },
    "resources/read": { contents: [] },
    "completion/complete": { completion: { values: [] } },
  };
  const unheard = new Set([
    "server/discover",
    "initialize",
    "ping",
    ...Object.keys(answers).filter((it) => it.endsWith("/list")),
  ]);

  interface Message {
    readonly id?: unknown;
    readonly method: string;
    readonly params?: JsonObject;
  }
  async function answer(
    { id, method, params = {} }: Message,
    _: unknown,
    arrived: Arrived,
  ): Promise<unknown> {
    if (id === undefined) return undefined;
    if (era === "legacy" && method === "server/discover") {
      return { jsonrpc: "2.0", id, error: { code: -32601, message: "unknown method" } };
    }
    const received = { server: name, ...arrived, method, params };
    if (!unheard.has(method)) await heard(received);
    const result = say(received) ?? answers[method] ?? {};
    return { jsonrpc: "2.0", id, result: era === "modern" ? { resultType: "complete", ...result } : result };
  }

  const { url, stop } = await serveHttp(answer, { sessions: false, port: offered.port ?? 0 });
  return { url, close: stop };
}
