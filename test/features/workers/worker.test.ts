/** Tests what a worker makes of the words of the first process, and of signals that reach it by themselves. */
import { EventEmitter } from "node:events";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import type { JoinedProcess } from "../../../src/cli/serving-mode.js";
import { workerSocket } from "../../../src/features/workers/identity.js";
import {
  type CurrentProcess,
  type FromWorker,
  joinWorkers,
  type ToWorker,
} from "../../../src/features/workers/worker.js";
import { LISTEN } from "./listen.js";

const SECTIONS = { "listen.admin": { host: "127.0.0.1", port: 0 } };
const identity = { number: 2, count: 3, folder: "/nowhere", secret: "s" };

class FakeProcess extends EventEmitter implements CurrentProcess {
  readonly env = { CARDEA_WORKER: "1" };
  readonly said: FromWorker[] = [];
  send(message: FromWorker): void {
    this.said.push(message);
  }
  hears(message: ToWorker, handle?: Socket): void {
    this.emit("message", message, handle);
  }
}

async function seated(): Promise<{ readonly process: FakeProcess; readonly worker: JoinedProcess }> {
  const process = new FakeProcess();
  const taking = joinWorkers(process);
  process.hears({ kind: "identity", identity, listen: LISTEN, sections: SECTIONS });
  return { process, worker: (await taking) as JoinedProcess };
}

/** Whether it has come by now. */
async function hasCome(wish: Promise<unknown>): Promise<boolean> {
  const later = new Promise((resolve) => setImmediate(resolve, "later"));
  return (await Promise.race([wish, later])) !== "later";
}

test("a worker reports that it listens, takes its identity, and reports its URLs", async () => {
  const { process, worker } = await seated();
  expect(worker.member).toMatchObject({
    ...{ number: 2, secret: "s" },
    adminSocket: workerSocket(identity, 2, "admin"),
    listener: { bind: { path: workerSocket(identity, 2, "requests") } },
    connections: { port: LISTEN.http.port, bind: { path: workerSocket(identity, 2, "hosts") } },
  });
  expect([worker.listen, worker.sections]).toEqual([LISTEN, SECTIONS]);
  worker.announce("http://here/mcp");
  expect(process.said).toEqual([{ kind: "connected" }, { kind: "ready", url: "http://here/mcp" }]);
});

test("a process that was not forked as a worker is no worker", async () => {
  const process = new FakeProcess();
  expect(await joinWorkers({ env: {}, send: () => {}, on: () => {} })).toBeUndefined();
  expect(await joinWorkers({ env: process.env, on: () => {} })).toBeUndefined();
});

test("a signal and the stop message of the first process are one drain; only a second message stops at once", async () => {
  const { process, worker } = await seated();
  const [drain, atOnce] = [worker.signals.next(), worker.signals.next()];
  expect(await hasCome(drain)).toBe(false);
  process.emit("SIGINT");
  process.emit("SIGTERM");
  process.hears({ kind: "stop", immediate: false });
  expect(await hasCome(drain)).toBe(true);
  process.emit("SIGINT");
  expect(await hasCome(atOnce)).toBe(false);
  process.hears({ kind: "stop", immediate: true });
  expect(await hasCome(atOnce)).toBe(true);
});

test("a message to stop at once replaces both signals", async () => {
  const { process, worker } = await seated();
  process.hears({ kind: "stop", immediate: true });
  expect(await hasCome(Promise.all([worker.signals.next(), worker.signals.next()]))).toBe(true);
});

test("a worker reloads at the message of the first process, and not at its own SIGHUP", async () => {
  const { process, worker } = await seated();
  let reads = 0;
  const unfollow = worker.signals.onHangup(() => {
    reads += 1;
  });
  process.emit("SIGHUP");
  expect(reads).toBe(0);
  process.hears({ kind: "reload" });
  expect(reads).toBe(1);
  unfollow();
  process.hears({ kind: "reload" });
  expect(reads).toBe(1);
});

test("a worker takes connections while its listener asks for them, and hands later ones back", async () => {
  const { process, worker } = await seated();
  const { connections } = worker.member;
  const taken: Socket[] = [];
  const [early, one, late] = [new Socket(), new Socket(), new Socket()];
  process.hears({ kind: "connection", id: 1 }, early);
  const stop = connections.onConnection((connection) => void taken.push(connection));
  process.hears({ kind: "connection", id: 2 }, one);
  process.hears({ kind: "connection", id: 3 });
  stop();
  process.hears({ kind: "connection", id: 4 }, late);
  expect(taken).toEqual([one]);
  expect([early, one, late].map(({ destroyed }) => destroyed)).toEqual([true, false, true]);
  expect(process.said.slice(1)).toEqual(
    [false, true, true, false].map((isTaken, at) => ({ kind: "confirmed", id: at + 1, isTaken })),
  );
});
