/** A real HTTP API on loopback, which records what it is asked, and an OpenAPI channel in front of it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { type Logger, SILENT } from "../../src/core/logger.js";
import { openOpenApiChannel } from "../../src/upstream/openapi/channel.js";
import type { OpenApiTransport } from "../../src/upstream/openapi/transport.js";
import type { JsonObject } from "../../src/wire/json.js";

export interface Asked {
  readonly method: string;
  /** Path and query as they came. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Starts an API; `answer` is called with each request. */
export async function startApi(answer: (asked: Asked) => Answer = () => ({})) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const one = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks),
      };
      asked.push(one);
      const { status = 200, headers = {}, body = "" } = answer(one);
      response.writeHead(status, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked };
}

/** Writes files into a folder of their own, and returns its path. */
export function folderWith(files: Readonly<Record<string, string | object>>): string {
  const folder = mkdtempSync(join(tmpdir(), "cardea-api-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

/** The smallest document around `paths`. */
export const documentOf = (paths: object, more: object = {}): object => ({
  openapi: "3.1.0",
  info: { title: "Test", version: "1" },
  servers: [{ url: "http://127.0.0.1:9/" }],
  paths,
  ...more,
});

export type Settings = Partial<Omit<OpenApiTransport, "kind">>;

/** Opens a channel to the API of a document in a file, and speaks to it as the gateway does. */
export async function openApi(document: object | string, settings: Settings = {}, log: Logger = SILENT) {
  const place = settings.document ?? {
    file: join(folderWith({ "api.json": document }), "api.json"),
    digest: "",
  };
  const transport = { kind: "openapi", headers: {}, ...settings, document: place } as const;
  const never = new AbortController().signal;
  const channel = await openOpenApiChannel({ name: "api", transport, connectTimeoutMs: 5_000 }, log, never);
  onTestFinished(() => channel.close());
  let id = 0;
  const request = async (method: string, params: JsonObject = {}, signal = never) => {
    const { message } = await channel.exchange({ jsonrpc: "2.0", id: ++id, method, params }, { signal });
    return message;
  };
  return {
    channel,
    request,
    tools: async () => (await request("tools/list")).result?.tools as readonly Tool[],
    call: async (name: string, args: JsonObject = {}, signal = never) =>
      ((await request("tools/call", { name, arguments: args }, signal)).result ?? {}) as JsonObject & Result,
  };
}

interface Tool extends JsonObject {
  readonly name: string;
  readonly inputSchema: { readonly properties: Readonly<Record<string, JsonObject>> } & JsonObject;
}

interface Result {
  readonly content: readonly (JsonObject & { readonly text?: string })[];
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
}
