/** Servers that hang at start hold up nobody else. */
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { MAIN, serveAtOnce, writeConfig } from "../support/cardea.js";
import { fixtureCommand } from "../support/fixture.js";
import { openLegacy, openModern, type RawHost } from "../support/peers/raw.js";

/** Reads everything and never says a word. */
const MUTE = { command: process.execPath, args: ["-e", "process.stdin.resume()"] };
/** Does not even read. */
const DEAF = { command: process.execPath, args: ["-e", "setInterval(() => {}, 1000)"] };

/** A URL where connections are taken and nothing ever comes back. */
async function muteUrl(): Promise<{ readonly url: string; readonly close: () => void }> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => sockets.add(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening on a port");
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** How long it takes until the host lists a tool of the server that works, and what it lists then. */
async function timeToList(open: () => Promise<RawHost>): Promise<{ ms: number; tools: readonly unknown[] }> {
  const begun = performance.now();
  const host = await open();
  for (;;) {
    const tools = (await host.list("tools")).map(({ name }) => name);
    const ms = performance.now() - begun;
    if (tools.includes("good__echo") || ms > 10_000) {
      await host.close();
      return { ms, tools };
    }
  }
}

describe("with two processes and a URL that hang at start", () => {
  const withHanging = async (act: (config: object) => Promise<void>): Promise<void> => {
    const mute = await muteUrl();
    const hanging = { mute: MUTE, deaf: DEAF, silent: { type: "http", url: mute.url } };
    await act({ mcpServers: { ...hanging, good: fixtureCommand("legacy") } });
    mute.close();
  };

  test.each([
    ["legacy", openLegacy],
    ["modern", openModern],
  ] as const)("a %s host over HTTP lists the others within 2 s of the ready line", async (_era, open) => {
    await withHanging(async (config) => {
      const gateway = await serveAtOnce(config);
      const { ms, tools } = await timeToList(() => open({ url: gateway.url }));
      await gateway.stop();
      expect(tools).toContain("good__echo");
      expect(ms).toBeLessThan(2000);
    });
  });

  test("a host over a pipe lists the others as soon", async () => {
    await withHanging(async (config) => {
      const { file, remove } = writeConfig(config);
      const place = { command: process.execPath, args: [MAIN, "stdio", "--config", file] };
      const { ms, tools } = await timeToList(() => openLegacy(place));
      await remove();
      expect(tools).toContain("good__echo");
      // The start of the program itself is in this figure: it has no ready line to count from.
      expect(ms).toBeLessThan(3000);
    });
  });
});
