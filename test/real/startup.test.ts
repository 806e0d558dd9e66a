/** Servers that hang at start hold up nobody else. */
import { once } from "node:events";
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { MAIN, serveAtOnce, writeConfig } from "../support/cardea.js";
import { fixtureCommand } from "../support/fixture.js";
import { whenListed } from "../support/peers/host.js";
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

/** Resolves when the host lists a tool of the server that works. */
async function listsTheOthers(open: () => Promise<RawHost>): Promise<void> {
  const host = await open();
  await whenListed(host, "good__echo");
  await host.close();
}

const HOSTS = [
  ["legacy", openLegacy],
  ["modern", openModern],
] as const;
/** Whoever waited for one that hangs would wait longer than any test may take. How soon it is, F4 of `faults` measures. */
const PATIENCE = { connectTimeout: "10m" };

describe("with two processes and a URL that hang at start", () => {
  const withHanging = async (act: (config: object) => Promise<void>): Promise<void> => {
    const mute = await muteUrl();
    const hanging = {
      mute: { ...MUTE, ...PATIENCE },
      deaf: { ...DEAF, ...PATIENCE },
      silent: { type: "http", url: mute.url, ...PATIENCE },
    };
    try {
      await act({ mcpServers: { ...hanging, good: fixtureCommand("legacy") } });
    } finally {
      mute.close();
    }
  };

  test.each(HOSTS)("a %s host over HTTP lists the others while those still hang", async (_era, open) => {
    await withHanging(async (config) => {
      const gateway = await serveAtOnce(config);
      try {
        await listsTheOthers(() => open({ url: gateway.url }));
        const rows = (await (await fetch(`${gateway.admin}/api/v1/servers`)).json()) as { state: string }[];
        expect(rows.map(({ state }) => state)).toEqual(["starting", "starting", "starting", "ready"]);
      } finally {
        await gateway.stop();
      }
    });
  });

  test.each(HOSTS)("a %s host over a pipe lists the others while those still hang", async (_era, open) => {
    await withHanging(async (config) => {
      const { file, remove } = writeConfig(config);
      try {
        const place = { command: process.execPath, args: [MAIN, "stdio", "--config", file] };
        await listsTheOthers(() => open(place));
      } finally {
        await remove();
      }
    });
  });
});
