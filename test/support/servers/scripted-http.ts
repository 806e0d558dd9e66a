/** An HTTP server on a free port that answers as the test says, and remembers what it was asked. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { until } from "../until.js";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The id of the JSON-RPC message in the body. */
  readonly id: unknown;
  /** Resolves when the connection or the answer is over; true when the asker closed it before the answer ended. */
  readonly hungUp: Promise<boolean>;
}

export type Respond = (asked: Asked, response: ServerResponse) => void;

export interface ScriptedServer {
  readonly origin: string;
  readonly url: string;
  readonly asked: readonly Asked[];
  /** Connections that were ever made, and those that are open. */
  readonly connections: { readonly made: number; readonly open: number };
  /** The request with this number (from 0), as soon as it has come. */
  request(number: number): Promise<Asked>;
  close(): Promise<void>;
}

/** Listens at a free port of 127.0.0.1 where nothing else is requested. */
export async function scriptedServer(
  respond: Respond,
  { host = "127.0.0.1", port = 0 }: { readonly host?: string; readonly port?: number } = {},
): Promise<ScriptedServer> {
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  let made = 0;
  // A stall of five seconds, for which Node keeps a silent connection, must not close it.
  const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      const one: Asked = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body,
        id: idOf(body),
        hungUp: new Promise((resolve) => response.once("close", () => resolve(!response.writableFinished))),
      };
      asked.push(one);
      respond(one, response);
    });
  });
  server.on("connection", (socket) => {
    made++;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const origin = `http://${host}:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    url: `${origin}/mcp`,
    asked,
    get connections() {
      return { made, open: sockets.size };
    },
    request: (number) => until(`request ${number}`, () => asked[number]),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function idOf(body: string): unknown {
  return body === "" ? undefined : (JSON.parse(body) as { id?: unknown }).id;
}

export const json = (response: ServerResponse, body: unknown, status = 200, headers = {}): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
};

/** The response to what was asked, as JSON. */
export const answer = (asked: Asked, response: ServerResponse, result: unknown = {}): void => {
  json(response, { jsonrpc: "2.0", id: asked.id, result });
};

/** Starts an event stream, and writes `events` to it unchanged. */
export const stream = (response: ServerResponse, ...events: readonly string[]): ServerResponse => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
  for (const event of events) response.write(event);
  return response;
};

export const event = (data: unknown, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
