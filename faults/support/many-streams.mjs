/** Thousands of event streams on plain sockets, as light as a reader can be. */
import { connect } from "node:net";
import { Host, newAgent, openHost } from "../../test/support/host/host.mjs";

/**
 * Opens streams, this many at a time, and resolves when each has its head.
 * @param {string} url of the gateway
 * @param {{ modern?: number, legacy?: number, perSession?: number, onText?: (text: string) => void }} options
 * `perSession`: how many GET streams an older host has; `onText` receives everything after the heads
 */
export async function openStreams(url, { modern = 0, legacy = 0, perSession = 4, onText = () => {} }) {
  const { hostname, port, pathname } = new URL(url);
  const sockets = new Set();
  const agent = newAgent();
  const hosts = await Promise.all(
    Array.from({ length: Math.ceil(legacy / perSession) }, () => openHost(url, "legacy", { agent })),
  );
  agent.destroy();
  const requestOf = (i) => {
    if (i < modern) {
      const host = new Host(url, "modern");
      const notifications = { toolsListChanged: true };
      const body = JSON.stringify(host.message(i, "subscriptions/listen", { notifications }));
      return (
        head("POST", { ...host.headersOf("subscriptions/listen"), "content-length": body.length }) + body
      );
    }
    const host = hosts[Math.floor((i - modern) / perSession)];
    return head("GET", { ...host.headersOf(), accept: "text/event-stream" });
  };
  const head = (method, headers) =>
    `${method} ${pathname} HTTP/1.1\r\nhost: ${hostname}:${port}\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")}\r\n`;

  let refused = 0;
  const one = (i) =>
    new Promise((resolve) => {
      const socket = connect({ host: hostname, port: Number(port) });
      let begun = false;
      const begin = (good) => {
        if (begun) return;
        begun = true;
        if (!good) refused += 1;
        resolve();
      };
      socket.once("connect", () => socket.write(requestOf(i)));
      socket.on("data", (chunk) => {
        if (begun) return onText(chunk.toString("latin1"));
        begin(chunk.toString("latin1", 9, 12) === "200");
      });
      socket.on("error", () => begin(false));
      socket.once("close", () => {
        sockets.delete(socket);
        begin(false);
      });
      sockets.add(socket);
    });

  const total = modern + legacy;
  let next = 0;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: 200 }, async () => {
      while (next < total) {
        const i = next;
        next += 1;
        await one(i);
      }
    }),
  );
  return {
    tookMs: performance.now() - begun,
    refused,
    get open() {
      return sockets.size;
    },
    /** Ends the streams, and with them the sessions, as hosts do that leave. */
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      for (const host of hosts.splice(0)) await host.close();
      agent.destroy();
    },
  };
}
