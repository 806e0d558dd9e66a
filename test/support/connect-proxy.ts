/** An HTTP proxy that opens tunnels (CONNECT), and resolves names itself: where each leads is up to the test. */
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { onTestFinished, vi } from "vitest";
import { CERTIFICATE, KEY } from "./certificates.js";

export interface ConnectProxy {
  /** Such as `http://127.0.0.1:41234`. */
  readonly url: string;
  readonly port: number;
  /** The authority of each CONNECT, in order. */
  readonly asked: string[];
  /** `Proxy-Authorization` of each. */
  readonly authorizations: (string | undefined)[];
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where a tunnel to an authority leads: to a port of this machine, or to an answer that refuses it. */
export type Route = (authority: string, request: IncomingMessage) => number | Answer;

/** Closed when the test is over. */
export async function connectProxy(route: Route, isSecure = false): Promise<ConnectProxy> {
  const asked: string[] = [];
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const refuseOthers: RequestListener = (_, response) => void response.writeHead(400).end();
  const server = isSecure
    ? createSecureServer({ key: KEY, cert: CERTIFICATE }, refuseOthers)
    : createServer(refuseOthers);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
  });
  server.on("connect", (request: IncomingMessage, client: Socket, head: Buffer) => {
    asked.push(request.url ?? "");
    authorizations.push(request.headers["proxy-authorization"]);
    client.on("error", () => {});
    const led = route(request.url ?? "", request);
    if (typeof led !== "number") {
      const fields = Object.entries(led.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
      client.end(`HTTP/1.1 ${led.status} Refused\r\n${fields.join("")}content-length: 4\r\n\r\nno!\n`);
      return;
    }
    const target = connect(led, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      target.write(head);
      target.pipe(client).pipe(target);
    });
    target.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.on("close", () => target.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const { port } = server.address() as AddressInfo;
  return { url: `${isSecure ? "https" : "http"}://127.0.0.1:${port}`, port, asked, authorizations };
}

/** Sets variables of the environment until the test is over; the other variables of proxies are empty. */
export function proxyEnvironment(variables: Readonly<Record<string, string>>): void {
  for (const name of ["http_proxy", "https_proxy", "no_proxy"]) {
    vi.stubEnv(name, "");
    vi.stubEnv(name.toUpperCase(), "");
  }
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}
