/** How a command finds the gateway that runs with its config, and when it starts the servers itself. */
import { createHash } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { writeRunFile } from "../../src/cli/run-files.js";
import { SILENT } from "../../src/core/logger.js";
import { atHome } from "./at-home.js";

afterEach(() => void vi.useRealTimers());

/** A folder with a config, and a listener that stands for the admin listener of the gateway that serves it. */
async function withAdminListener(answer: RequestListener) {
  const place = atHome();
  place.write("work/cardea.json", CONFIG);
  const server = createServer(answer);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const adminUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = `${place.home.replace(/home$/, "work")}/cardea.json`;
  const gateway = { url: "http://127.0.0.1:1/mcp", adminUrl, pid: process.pid, config, token: "t" };
  await writeRunFile({ HOME: place.home }, gateway, SILENT);
  const close = (): Promise<unknown> => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  return { place, adminUrl, close };
}

test.each([["list"], ["call", "t"], ["explain", "t"]])(
  "%s starts the servers itself when the running gateway does not answer within 2 s",
  async (...argv) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let closed = (): void => {};
    const requestClosed = new Promise<void>((done) => {
      closed = done;
    });
    const { place, adminUrl, close } = await withAdminListener((request) => {
      request.once("close", closed);
      vi.advanceTimersByTime(2_000);
    });
    try {
      const { said } = await place.run(...argv);
      expect(said).toContain(
        `warn: the gateway that runs with this config (pid ${process.pid}) does not answer at ${adminUrl}; the servers are started instead`,
      );
      await requestClosed;
    } finally {
      await close();
    }
  },
);

const CONFIG = '{ "mcpServers": { "a": { "command": "x" } } }';
const CURRENT = createHash("sha256").update(CONFIG).digest("hex").slice(0, 16);

/** Lists at a gateway whose status page has each of the digests in turn, the last one for good. */
async function listAt(...digests: (string | undefined)[]) {
  const shown = [...digests];
  const { place, close } = await withAdminListener(({ url = "" }, answer) => {
    if (url === "/api/v1/") answer.end(JSON.stringify({ pages: ["/api/v1/lists"] }));
    else if (url === "/api/v1/status") {
      const configDigest = shown.length > 1 ? shown.shift() : shown[0];
      answer.end(JSON.stringify({ pid: process.pid, configDigest }));
    } else answer.end(JSON.stringify({ entries: [], missing: [] }));
  });
  const { code, said, waits } = await place.run("list", "tools").finally(close);
  return { code, warnings: said.filter((line) => line.startsWith("warn")), waits };
}

test("a command waits until the running gateway has reloaded a changed config", async () => {
  expect(await listAt("before", "before", CURRENT)).toEqual({ code: 0, warnings: [], waits: [100, 100] });
});

test("a running gateway that keeps an earlier config is used after 3 s, with a warning", async () => {
  const { code, warnings, waits } = await listAt("before");
  expect([code, waits.length]).toEqual([0, 30]);
  expect(warnings).toEqual([expect.stringMatching(/has not taken over .*cardea\.json as it is now/)]);
});

test.each([[CURRENT], [undefined]])("the config digest %s causes no wait", async (digest) => {
  expect(await listAt(digest)).toEqual({ code: 0, warnings: [], waits: [] });
});
