/** Servers that start slowly are in the first list of a host; hanging ones delay no other server. */
import "../features/admin/needed.js";
import { once } from "node:events";
import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MAIN, serveAtOnce, writeConfig } from "../support/cardea.js";
import { type Fixture, startFixture } from "../support/fixture.js";
import { gatedServer } from "../support/gated-server.js";
import { whenListed } from "../support/peers/host.js";
import { openLegacy, openModern, processWire, type RawHost } from "../support/peers/raw.js";
import { sample } from "../support/sample.js";

/** Works from the start. */
let good: Fixture;
beforeAll(async () => {
  good = await startFixture("legacy", "http");
});
afterAll(() => good.stop());

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
/** Each starts the program and up to three servers. */
const DRAWN = (["starting", "hanging"] as const).flatMap((what) =>
  sample(
    `${what} servers`,
    (["HTTP", "stdio"] as const).flatMap((way) => HOSTS.map((host) => ({ what, way, host }))),
    1,
  ),
);
const drawn = (what: "starting" | "hanging", way: "HTTP" | "stdio") =>
  DRAWN.filter((one) => one.what === what && one.way === way).map(({ host }) => host);
/** Waiting for a hanging server would exceed any test timeout. F4 of `faults` measures the time. */
const PATIENCE = { connectTimeout: "10m" };

describe.concurrent("a server that is still starting", () => {
  const config = (late: object) => ({
    startupWait: "10m",
    mcpServers: { good: good.entry, late },
  });
  const listsBoth = async (host: RawHost, open: () => Promise<void>): Promise<void> => {
    const listed = host.list("tools");
    await open();
    const names = (await listed).map(({ name }) => name);
    await host.close();
    expect(names).toEqual(expect.arrayContaining(["good__echo", "late__echo"]));
  };

  test.each(drawn("starting", "HTTP"))("is in the first list of a %s host over HTTP", async (_era, open) => {
    const late = await gatedServer();
    const gateway = await serveAtOnce(config(late.entry));
    try {
      await late.reached;
      expect(gateway.process.stderr()).toMatch(/"ready: .*; still starting: (good, )?late"/);
      const host = await open({ url: gateway.url });
      const ready = await fetch(new URL("/readyz", gateway.url));
      expect(ready.status).toBe(200);
      expect(((await ready.json()) as { starting: string[] }).starting).toContain("late");
      await listsBoth(host, late.open);
      const then = await (await fetch(new URL("/readyz", gateway.url))).json();
      expect(then).toEqual({ ready: true, reasons: [] });
    } finally {
      await gateway.end();
      late.close();
    }
  });

  test.each(drawn("starting", "stdio"))(
    "is in the first list of a %s host over stdio",
    async (_era, open) => {
      const late = await gatedServer();
      const { file, remove } = writeConfig(config(late.entry));
      try {
        const host = await open({ command: process.execPath, args: [MAIN, "stdio", "--config", file] });
        await listsBoth(host, late.open);
      } finally {
        late.close();
        await remove();
      }
    },
  );

  test("delays neither a list nor the shutdown when the gateway drains", async () => {
    const late = await gatedServer();
    const { file, remove } = writeConfig(config(late.entry));
    const wire = processWire({ command: process.execPath, args: [MAIN, "stdio", "--config", file] });
    try {
      const host = await openLegacy(wire);
      const listed = host.list("tools");
      // The answer says that the list, which was sent before, has arrived.
      await host.request("ping", {});
      expect(await wire.process.stop()).toEqual({ code: 0, signal: null });
      expect((await listed).map(({ name }) => name)).not.toContain("late__echo");
    } finally {
      late.close();
      await remove();
    }
  });
});

describe.concurrent("with two stdio servers and a URL that hang at start", () => {
  const withHanging = async (act: (config: object) => Promise<void>): Promise<void> => {
    const mute = await muteUrl();
    const hanging = {
      mute: { ...MUTE, ...PATIENCE },
      deaf: { ...DEAF, ...PATIENCE },
      silent: { type: "http", url: mute.url, ...PATIENCE },
    };
    try {
      await act({ startupWait: "1s", mcpServers: { ...hanging, good: good.entry } });
    } finally {
      mute.close();
    }
  };

  test.each(drawn("hanging", "HTTP"))("a %s host over HTTP lists the other servers", async (_era, open) => {
    await withHanging(async (config) => {
      const gateway = await serveAtOnce(config);
      try {
        await listsTheOthers(() => open({ url: gateway.url }));
        const rows = (await (await fetch(`${gateway.admin}/api/v1/servers`)).json()) as { state: string }[];
        expect(rows.map(({ state }) => state)).toEqual(["starting", "starting", "starting", "ready"]);
      } finally {
        await gateway.end();
      }
    });
  });

  test.each(drawn("hanging", "stdio"))("a %s host over stdio lists the other servers", async (_era, open) => {
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
