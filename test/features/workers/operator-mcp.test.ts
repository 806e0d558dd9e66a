/** `POST /api/v1/mcp` at the primary process, which passes it on to a worker. */

import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { forwardToAnyWorker } from "../../../src/features/workers/forward-to-any.js";
import { workerSocket } from "../../../src/features/workers/identity.js";

const HEADERS: Readonly<Record<string, string>> = {
  authorization: "Bearer the-token-of-the-operator",
  "content-type": "application/json",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
};

describe("with several workers", () => {
  const folder = mkdtempSync(join(tmpdir(), "cardea-forward-"));
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** The primary's listener, with these workers. */
  async function forwarded(workers: readonly { worker: number; pid: number; ready: boolean }[]) {
    const primary = createServer((request, response) => {
      void forwardToAnyWorker({ folder, secret: "of-the-workers" }, () => workers)(
        request,
        response,
        undefined,
      );
    });
    await new Promise<void>((resolve) => primary.listen(0, "127.0.0.1", resolve));
    const { port } = primary.address() as { port: number };
    try {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/mcp`, {
        method: "POST",
        headers: { ...HEADERS, origin: `http://127.0.0.1:${port}` },
        body: "{}",
      });
      return { status: response.status, json: (await response.json()) as Record<string, unknown> };
    } finally {
      primary.close();
    }
  }

  test("the first ready worker receives the request, without the headers that the primary has checked", async () => {
    const worker = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      const { authorization, origin } = request.headers;
      response.end(JSON.stringify({ url: request.url, body, authorization, origin }));
    });
    await new Promise<void>((resolve) => worker.listen(workerSocket({ folder }, 2, "admin"), resolve));
    const answer = await forwarded([
      { worker: 1, pid: 1, ready: false },
      { worker: 2, pid: 2, ready: true },
    ]);
    worker.close();
    expect(answer).toEqual({
      status: 200,
      json: { url: "/api/v1/mcp", body: "{}", authorization: "Bearer of-the-workers" },
    });
  });

  test("without a ready worker, or with a worker that exits, the response is 503", async () => {
    expect((await forwarded([])).status).toBe(503);
    expect((await forwarded([{ worker: 7, pid: 7, ready: true }])).status).toBe(503);
  });
});
