/** Tests who is started again, when, and how all are stopped. */
import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { ConnectionDealer } from "../../../src/features/workers/connection-dealer.js";
import type { FromWorker, ToWorker } from "../../../src/features/workers/worker.js";
import { WorkerPool, type WorkerProcess } from "../../../src/features/workers/worker-pool.js";
import { LISTEN } from "./listen.js";

const ADDRESSES = { listen: LISTEN, sections: {} };

class FakeWorker extends EventEmitter implements WorkerProcess {
  readonly process: { pid?: number; kill(signal: string): void } = {
    pid: 1,
    kill: (signal) => this.ends(null, signal),
  };
  readonly heard: ToWorker[] = [];
  send(message: ToWorker): void {
    this.heard.push(message);
  }
  says(message: FromWorker): void {
    this.emit("message", message);
  }
  /** Receives its identity, and listens. */
  getsReady(): void {
    this.says({ kind: "connected" });
    this.says({ kind: "ready", url: "http://here/mcp" });
  }
  ends(code: number | null, signal: string | null = null): void {
    this.emit("exit", code, signal);
  }
  /** There is no process for it. */
  cannotStart(): void {
    delete this.process.pid;
    this.emit("error", new Error("spawn EAGAIN"));
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function two(canFork: () => boolean = () => true) {
  const forked: FakeWorker[] = [];
  const gaveUp: number[] = [];
  let cleared = 0;
  const workers = new WorkerPool({
    addresses: ADDRESSES,
    dealer: new ConnectionDealer(SILENT),
    identity: { count: 2, folder: "/nowhere", secret: "s" },
    logger: SILENT,
    fork: () => {
      if (!canFork()) throw new Error("spawn ENOMEM");
      const worker = new FakeWorker();
      forked.push(worker);
      return worker;
    },
    onWorkerLost: async () => {
      cleared += 1;
    },
    onRequiredServerMissing: (number) => gaveUp.push(number),
  });
  return { workers, forked, gaveUp, cleared: () => cleared };
}

/** The sockets of one that has ended are removed first, which takes the file system a moment. */
async function until(come: () => boolean): Promise<void> {
  while (!come()) await new Promise((resolve) => setImmediate(resolve));
}
/** The next one of its number waits for its time, which may be now. */
const nextIsDue = () => until(() => vi.getTimerCount() === 1);

test("each worker gets its identity when it listens, and the pool is ready when every worker is", async () => {
  const { workers, forked } = two();
  let url: string | undefined;
  void workers.start(LISTEN.http.port).then((said) => {
    url = said;
  });
  forked[0]?.getsReady();
  await Promise.resolve();
  expect(url).toBeUndefined();
  forked[1]?.getsReady();
  await until(() => url !== undefined);
  expect(url).toBe("http://here/mcp");
  expect(forked.map(({ heard }) => heard)).toEqual(
    [1, 2].map((number) => [
      { kind: "identity", identity: { count: 2, folder: "/nowhere", secret: "s", number }, ...ADDRESSES },
    ]),
  );
});

test("the start fails when a worker exits before all are ready", async () => {
  const { workers, forked } = two();
  const started = workers.start(LISTEN.http.port);
  forked[1]?.ends(1);
  await expect(started).rejects.toThrow("worker 2 ended with code 1 before it was ready");
});

test("a worker that dies is restarted at once, then with growing backoff", async () => {
  const { workers, forked, cleared } = two();
  void workers.start(LISTEN.http.port);
  for (const worker of forked) worker.getsReady();
  forked[0]?.ends(null, "SIGKILL");
  expect(workers.status()[0]).toMatchObject({ ready: false, restarts: 0 });
  await nextIsDue();
  vi.advanceTimersByTime(0);
  expect(forked).toHaveLength(3);
  expect(workers.status()[0]).toMatchObject({ worker: 1, restarts: 1 });
  expect(cleared()).toBe(1);
  for (const [at, waitMs] of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].entries()) {
    forked[2 + at]?.ends(1);
    await nextIsDue();
    vi.advanceTimersByTime(waitMs - 1);
    expect(forked).toHaveLength(3 + at);
    vi.advanceTimersByTime(1);
    expect(forked).toHaveLength(4 + at);
  }
});

test("a worker that ran for long is restarted without backoff", async () => {
  const { workers, forked } = two();
  void workers.start(LISTEN.http.port);
  for (const worker of forked) worker.getsReady();
  for (let round = 0; round < 3; round += 1) {
    vi.advanceTimersByTime(60_000);
    forked.at(-1)?.ends(1);
    await nextIsDue();
    vi.advanceTimersByTime(0);
    expect(forked).toHaveLength(3 + round);
  }
});

test("a worker that misses a required server at the start is not restarted", async () => {
  const { workers, forked, gaveUp } = two();
  void workers.start(LISTEN.http.port);
  for (const worker of forked) worker.getsReady();
  forked[1]?.ends(69);
  await until(() => gaveUp.length > 0);
  expect(gaveUp).toEqual([2]);
  vi.advanceTimersByTime(120_000);
  expect(forked).toHaveLength(2);
});

test("a replacement worker that misses a required server is restarted, while the others keep running", async () => {
  const { workers, forked, gaveUp } = two();
  void workers.start(LISTEN.http.port);
  for (const worker of forked) worker.getsReady();
  forked[1]?.ends(1);
  await nextIsDue();
  vi.advanceTimersByTime(0);
  forked[2]?.ends(69);
  await nextIsDue();
  vi.advanceTimersByTime(1_000);
  expect(forked).toHaveLength(4);
  expect(gaveUp).toEqual([]);
});

test("a failed spawn of a worker is retried", async () => {
  const { workers, forked } = two();
  void workers.start(LISTEN.http.port);
  for (const worker of forked) worker.getsReady();
  forked[0]?.ends(1);
  await nextIsDue();
  vi.advanceTimersByTime(0);
  forked[2]?.cannotStart();
  await nextIsDue();
  vi.advanceTimersByTime(1_000);
  expect(forked).toHaveLength(4);
  forked[3]?.getsReady();
  expect(workers.status()[0]).toMatchObject({ worker: 1, ready: true, restarts: 2 });
});

test("a spawn that fails for lack of memory (ENOMEM) is retried", async () => {
  let memory = true;
  const { workers, forked } = two(() => memory);
  void workers.start(LISTEN.http.port);
  for (const worker of forked) worker.getsReady();
  memory = false;
  forked[0]?.ends(1);
  await nextIsDue();
  vi.advanceTimersByTime(0);
  await nextIsDue();
  memory = true;
  vi.advanceTimersByTime(1_000);
  expect(forked).toHaveLength(3);
  expect(workers.status()[0]).toMatchObject({ restarts: 2 });
});

test("the start fails when no worker can be spawned", async () => {
  // Both are cleared up after at the same time, and whichever is done first is named.
  await expect(two(() => false).workers.start(LISTEN.http.port)).rejects.toThrow(
    /^worker [12] ended with spawn ENOMEM before/,
  );
});

test("a send error (EPIPE) to a running worker does not restart it", () => {
  const { workers, forked } = two();
  void workers.start(LISTEN.http.port);
  for (const worker of forked) worker.getsReady();
  forked[0]?.emit("error", new Error("write EPIPE"));
  expect(workers.status()[0]).toMatchObject({ ready: true, restarts: 0 });
});

test("a stop is sent to all workers, and none is restarted during it", async () => {
  const { workers, forked } = two();
  void workers.start(LISTEN.http.port);
  for (const worker of forked) worker.getsReady();
  let stopped = false;
  const stopping = workers.stop(false).then(() => {
    stopped = true;
  });
  expect(forked.map(({ heard }) => heard.at(-1))).toEqual(
    Array.from({ length: 2 }, () => ({ kind: "stop", immediate: false })),
  );
  forked[0]?.ends(0);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(stopped).toBe(false);
  void workers.stop(true);
  expect(forked[1]?.heard.at(-1)).toEqual({ kind: "stop", immediate: true });
  forked[1]?.ends(143);
  await stopping;
  vi.advanceTimersByTime(120_000);
  expect(forked).toHaveLength(2);
});

test.each([
  ["drains", false, 45_000],
  ["stops at once", true, 900],
])("a worker that does not exit when the pool %s is killed", async (_, immediate, afterMs) => {
  const { workers, forked } = two();
  void workers.start(LISTEN.http.port);
  for (const worker of forked) worker.getsReady();
  let stopped = false;
  const stopping = workers.stop(immediate).then(() => {
    stopped = true;
  });
  forked[0]?.ends(0);
  await vi.advanceTimersByTimeAsync(afterMs - 1);
  expect(stopped).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await stopping;
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ["every worker exits with 0", [0, 0], false],
  ["a worker exits with another code", [0, 1], true],
])("a stop where %s", async (_, codes, hasFailed) => {
  const { workers, forked } = two();
  void workers.start(LISTEN.http.port);
  for (const worker of forked) worker.getsReady();
  const stopping = workers.stop(false);
  for (const [index, code] of codes.entries()) forked[index]?.ends(code);
  await stopping;
  expect(workers.hasFailedToStop).toBe(hasFailed);
});

test("a worker that connects during a stop gets the stop message", () => {
  const { workers, forked } = two();
  void workers.start(LISTEN.http.port);
  void workers.stop(false);
  forked[0]?.says({ kind: "connected" });
  expect(forked[0]?.heard.at(-1)).toEqual({ kind: "stop", immediate: false });
});

test("a reload is sent to all workers", () => {
  const { workers, forked } = two();
  void workers.start(LISTEN.http.port);
  workers.reload();
  expect(forked.map(({ heard }) => heard)).toEqual([[{ kind: "reload" }], [{ kind: "reload" }]]);
});
