/** Tests what operators see of several workers, with listeners in place of their processes. */
import { mkdtempSync, rmSync } from "node:fs";
import { ClientRequest, createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BadQuery, firstAnswer, rows } from "../../../src/core/admin-page.js";
import { Stop } from "../../../src/core/stop.js";
import { workerSocket } from "../../../src/features/workers/identity.js";
import { MergedAdminPages } from "../../../src/features/workers/merged-admin-pages.js";
import type { WorkerStatus } from "../../../src/features/workers/worker-pool.js";

/** What a worker answers, by path and query; a status of its own where it is no 200. */
type Answers = Readonly<Record<string, unknown>>;
interface Fake {
  readonly answers: Answers;
  readonly ready?: boolean;
}

let folder: string;
const servers: Server[] = [];
beforeEach(() => {
  // How long a gateway has run is not what takes time here.
  vi.useFakeTimers({ toFake: ["Date"] });
  folder = mkdtempSync(join(tmpdir(), "cardea-overview-"));
});
afterEach(async () => {
  vi.useRealTimers();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
  rmSync(folder, { recursive: true });
});

/** Of workers numbered from 1; one without responses has exited unnoticed. */
async function overviewOf(fakes: readonly (Fake | "lost")[], draining = false): Promise<MergedAdminPages> {
  const identity = { count: fakes.length, folder, secret: "s" };
  const status: WorkerStatus[] = [];
  for (const [at, fake] of fakes.entries()) {
    const worker = at + 1;
    const ready = fake === "lost" || (fake.ready ?? true);
    status.push({ worker, pid: 100 + worker, ready, restarts: 0 });
    if (fake === "lost" || !ready) continue;
    const server = createServer(({ url = "" }, response) => {
      const body = fake.answers[url];
      if (body === HANGS) return;
      if (body instanceof Refused) response.writeHead(body.status).end(JSON.stringify({ error: body.error }));
      else if (body === undefined) response.writeHead(404).end("{}");
      else response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
    servers.push(server);
    await new Promise<void>((listening) => server.listen(workerSocket(identity, worker, "admin"), listening));
  }
  return new MergedAdminPages({
    identity,
    workers: () => status,
    ownMetrics: { text: async () => "# TYPE own gauge\nown 1\n" },
    version: "1.2.3",
    startedAt: Date.now(),
    gauges: [],
    featurePages: [
      { path: "logins", summary: "", answerSchema: () => ({}), merge: firstAnswer },
      { path: "events", summary: "", answerSchema: () => ({}), merge: rows },
    ],
    draining: () => draining,
  });
}

/** The answer of a worker that waits. */
const HANGS = Symbol("hangs");

class Refused {
  constructor(
    readonly status: number,
    readonly error: string,
  ) {}
}

const page = (overview: MergedAdminPages, name: string, query = "", { signal } = new Stop()): unknown =>
  overview.pages.find(({ path }) => path === name)?.handler(new URLSearchParams(query), signal);
const ready = (ready: boolean, ...reasons: string[]): Fake => ({
  answers: { "/readyz": { ready, reasons } },
});

test.each<[string, readonly (Fake | "lost")[], boolean, readonly string[]]>([
  ["every worker is", [ready(true), ready(true)], true, []],
  ["one is starting", [ready(true), { ...ready(true), ready: false }], true, ["worker 2 is starting"]],
  ["one does not answer", [ready(true), "lost"], true, ["worker 2 does not answer"]],
  ["one is not", [ready(true), ready(false, "required server a: away")], false, ["required server a: away"]],
  ["all lack the same", [ready(false, "a"), ready(false, "a")], false, ["a"]],
  ["none answers", ["lost"], false, ["worker 1 does not answer"]],
  ["none runs yet", [{ answers: {}, ready: false }], false, ["worker 1 is starting"]],
])("/readyz merges readiness when %s", async (_, fakes, isReady, reasons) => {
  expect(await (await overviewOf(fakes)).readiness()).toEqual({ ready: isReady, reasons });
});

test("/readyz fails while the gateway stops, with that reason first", async () => {
  const overview = await overviewOf([ready(true, "b")], true);
  expect(await overview.readiness()).toEqual({ ready: false, reasons: ["the gateway is stopping", "b"] });
});

test("a server has its worst state and the calls of all workers", async () => {
  const row = { name: "git", transport: "stdio", required: false };
  const well = { ...row, state: "ready", circuit: "closed", inFlight: 2, waiting: 1, calls: 5, restarts: 0 };
  const ill = { ...row, state: "backoff", lastError: "it ended", circuit: "open", inFlight: 1, waiting: 0 };
  const counted = { ...ill, calls: 2, restarts: 3 };
  const other = { ...well, name: "files" };
  const overview = await overviewOf([
    { answers: { "/api/v1/servers": [well, other] } },
    { answers: { "/api/v1/servers": [counted, other] } },
  ]);
  expect(await page(overview, "servers")).toEqual([
    { ...ill, inFlight: 3, waiting: 1, calls: 7, restarts: 3 },
    { ...other, inFlight: 4, waiting: 2, calls: 10, restarts: 0 },
  ]);
});

test("rows name their worker, newest first", async () => {
  const at = (second: number) => ({ time: `2026-01-01T00:00:0${second}.000Z`, rule: `r${second}` });
  const overview = await overviewOf([
    { answers: { "/api/v1/events": [at(3), at(1)] } },
    { answers: { "/api/v1/events": [at(2)] } },
  ]);
  expect(await page(overview, "events")).toEqual([
    { ...at(3), worker: 1 },
    { ...at(2), worker: 2 },
    { ...at(1), worker: 1 },
  ]);
});

test("the last calls of all workers are one list, limited as requested", async () => {
  const overview = await overviewOf([
    {
      answers: {
        "/api/v1/calls?limit=3": [
          { id: 9, at: 50 },
          { id: 8, at: 10 },
        ],
      },
    },
    {
      answers: {
        "/api/v1/calls?limit=3": [
          { id: 4, at: 40 },
          { id: 3, at: 30 },
        ],
      },
    },
  ]);
  expect(await page(overview, "calls", "limit=3")).toEqual([
    { id: 9, at: 50, worker: 1 },
    { id: 4, at: 40, worker: 2 },
    { id: 3, at: 30, worker: 2 },
  ]);
});

test("the history of all workers has their sums, for the steps that all of them have", async () => {
  const history = (calls: number[], at: number[]) => ({
    ...{ step: 10, at, calls, errors: calls, waits: calls, p50: calls, p95: calls },
  });
  const overview = await overviewOf([
    { answers: { "/api/v1/history": history([1, 2], [10, 20]) } },
    { answers: { "/api/v1/history": history([5, 7], [0, 10]) } },
  ]);
  expect(await page(overview, "history")).toEqual({
    ...{ step: 10, at: [10], calls: [8], errors: [8], waits: [8], p50: [7], p95: [7] },
  });
});

test("pages that are equal in all workers come from the first that answers", async () => {
  const overview = await overviewOf(["lost", { answers: { "/api/v1/catalog": { tools: [] } } }]);
  expect(await page(overview, "catalog")).toEqual({ tools: [] });
});

test("the status page is that of the first process, with sums of all workers", async () => {
  const status = {
    version: "0",
    pid: 1,
    config: "cardea.jsonc",
    sessions: 2,
    openQuestions: 1,
    uptimeSeconds: 9,
  };
  const answers = { "/api/v1/status": status, "/readyz": { ready: true, reasons: [] } };
  const overview = await overviewOf([{ answers }, { answers }]);
  expect(await page(overview, "status")).toMatchObject({
    version: "1.2.3",
    pid: process.pid,
    config: "cardea.jsonc",
    sessions: 4,
    openQuestions: 2,
    uptimeSeconds: 0,
    ready: true,
    workers: [{ worker: 1 }, { worker: 2 }],
  });
});

test("an invalid query gets 400, and a page that no worker serves is an error", async () => {
  const answers = { "/api/v1/explain?args=x": new Refused(400, "name=… says which tool") };
  const overview = await overviewOf([{ answers }]);
  await expect(page(overview, "explain", "args=x")).rejects.toThrow(new BadQuery("name=… says which tool"));
  await expect(page(overview, "catalog")).rejects.toMatchObject({
    code: "upstream_unavailable",
    message: "no worker answers for catalog",
  });
});

test("a page lacks what every worker lacks", async () => {
  const answers = { "/api/v1/lists?kind=tools": new Refused(503, "required server a is not connected") };
  const overview = await overviewOf([{ answers }, { answers }]);
  await expect(page(overview, "lists", "kind=tools")).rejects.toMatchObject({
    code: "upstream_unavailable",
    message: "required server a is not connected",
  });
});

test.each([
  ["catalog", "", 5_000],
  ["explain", "name=a__b", 5_000],
  ["explain", "name=a__b&wait=true", 600_000],
  ["lists", "kind=tools", 600_000],
])("a page that waits has a longer timeout for workers: %s?%s", async (name, query, ms) => {
  const limits = vi.spyOn(ClientRequest.prototype, "setTimeout");
  const overview = await overviewOf([{ answers: { [`/api/v1/${name}${query && `?${query}`}`]: {} } }]);
  await page(overview, name, query);
  expect(limits.mock.calls.map(([limit]) => limit)).toEqual([ms]);
  limits.mockRestore();
});

test("the request to a worker is cancelled when the client disconnects", async () => {
  const overview = await overviewOf([{ answers: { "/api/v1/lists?kind=tools": HANGS } }]);
  const client = new Stop();
  const asked = page(overview, "lists", "kind=tools", client);
  client.abort();
  await expect(asked).rejects.toThrow("no worker answers for lists");
});

test("/metrics has the metrics of all workers and of the first process", async () => {
  const metrics = (count: number) => ({
    answers: { "/metrics": `# TYPE calls_total counter\ncalls_total ${count}\n` },
  });
  const overview = await overviewOf([metrics(2), metrics(3), "lost"]);
  expect(await overview.metrics()).toBe(
    "# TYPE calls_total counter\ncalls_total 5\n# TYPE own gauge\nown 1\n",
  );
});
