/** Hosts of both eras whose messages are read and written as tagged JSON, so that no number of theirs is ever changed. */
import { createInterface } from "node:readline";
import type { PassThrough } from "node:stream";
import { META, MODERN_REVISION } from "../../../src/wire/names.js";
import { open } from "../http-host.js";
import type { Json } from "../peers/host.js";
import { readTagged, writeTagged } from "./tagged.mjs";

export type Era = "legacy" | "modern";

interface Exchanged {
  readonly response: Json;
  /** What came before it, questions of legacy servers included. */
  readonly heard: readonly Json[];
}

export interface TaggedHost {
  /** Sends a request; every question on the way is answered with `answer`. */
  ask(
    method: string,
    params: Json,
    options?: { readonly id?: unknown; readonly answer?: Json },
  ): Promise<Exchanged>;
  /** Sends anything else. */
  tell(message: Json): Promise<void>;
}

/** One way to send a message and to hear what comes on its account, the response last. */
interface Line {
  exchange(request: Json, hear: (message: Json) => void): Promise<Json>;
  post(message: Json): Promise<void>;
}

export async function openTaggedHost(era: Era, way: { url: string } | Pipe): Promise<TaggedHost> {
  const line = "url" in way ? httpLine(era, way.url) : pipeLine(way);
  let lastId = 0;
  const host: TaggedHost = {
    tell: (message) => line.post(message),
    async ask(method, params, { id = `#${++lastId}`, answer } = {}) {
      const heard: Json[] = [];
      const hear = (message: Json): void => {
        heard.push(message);
        if (message.method !== undefined && message.id !== undefined) {
          void line.post({ jsonrpc: "2.0", id: message.id, result: answer });
        }
      };
      const whole = era === "legacy" ? params : { ...params, _meta: { ...modernMeta, ...meta(params) } };
      const response = await line.exchange({ jsonrpc: "2.0", id, method, params: whole }, hear);
      const { resultType, inputRequests, requestState } = (response.result ?? {}) as Json;
      if (resultType !== "input_required") return { response, heard };
      const inputResponses = Object.fromEntries(
        Object.keys(inputRequests as Json).map((key) => [key, answer]),
      );
      const again = { ...params, inputResponses, ...(requestState !== undefined && { requestState }) };
      const rest = await host.ask(method, again);
      return { response: rest.response, heard: [response, ...heard, ...rest.heard] };
    },
  };
  if (era === "legacy") {
    const capabilities = { elicitation: {} };
    const clientInfo = { name: "tagged", version: "1" };
    await host.ask("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
    await line.post({ jsonrpc: "2.0", method: "notifications/initialized" });
    await host.ask("logging/setLevel", { level: "debug" });
  }
  return host;
}

const meta = (params: Json): Json => (params._meta ?? {}) as Json;
const modernMeta = {
  [META.protocolVersion]: MODERN_REVISION,
  [META.clientInfo]: { name: "tagged", version: "1" },
  [META.clientCapabilities]: { elicitation: { form: {} } },
  [META.logLevel]: "debug",
};

function httpLine(era: Era, url: string): Line {
  let session: string | undefined;
  const post = async (message: Json) => {
    const { method, params = {} } = message as { method?: string; params?: Json };
    const name = params.name ?? params.uri;
    const response = await open(url, {
      body: writeTagged(message),
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(session !== undefined && { "mcp-session-id": session }),
        ...(era === "modern" && {
          "mcp-protocol-version": MODERN_REVISION,
          "mcp-method": String(method),
          ...(typeof name === "string" && { "mcp-name": name }),
        }),
      },
    });
    const issued = response.headers["mcp-session-id"];
    if (typeof issued === "string") session = issued;
    return response;
  };
  return {
    async post(message) {
      (await post(message)).resume();
    },
    async exchange(request, hear) {
      const response = await post(request);
      const isStream = response.headers["content-type"]?.startsWith("text/event-stream") === true;
      let last: Json = {};
      const take = (text: string): void => {
        const message = readTagged(text) as Json;
        if (message.method === undefined) last = message;
        else hear(message);
      };
      if (isStream) {
        for await (const line of createInterface({ input: response })) {
          const data = line.startsWith("data:") ? line.slice(5).trim() : "";
          if (data !== "") take(data);
        }
      } else {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        take(Buffer.concat(chunks).toString("utf8"));
      }
      return last;
    },
  };
}

export interface Pipe {
  readonly input: PassThrough;
  readonly output: PassThrough;
}

function pipeLine({ input, output }: Pipe): Line {
  const waiting = new Map<unknown, (response: Json) => void>();
  let hearing: (message: Json) => void = () => {};
  createInterface({ input: output }).on("line", (text) => {
    const message = readTagged(text) as Json;
    if (message.method === undefined) waiting.get(message.id)?.(message);
    else hearing(message);
  });
  const write = (message: Json): void => void input.write(`${writeTagged(message)}\n`);
  return {
    post: async (message) => write(message),
    async exchange(request, hear) {
      hearing = hear;
      return new Promise((resolve) => {
        waiting.set(request.id, resolve);
        write(request);
      });
    },
  };
}
