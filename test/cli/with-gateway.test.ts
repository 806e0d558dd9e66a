/** How a command finds the gateway that runs with its config, and when it starts the servers itself. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { writeRunFile } from "../../src/operator/run-files.js";
import { atHome } from "./at-home.js";

afterEach(() => void vi.useRealTimers());

/** A folder with a config, and a listener that stands for the admin listener of the gateway that serves it. */
async function withAdminListener(answer: RequestListener) {
  const place = atHome();
  place.write("work/cardea.json", { mcpServers: { a: { command: "x" } } });
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
