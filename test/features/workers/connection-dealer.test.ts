/** Which worker gets a connection, and what becomes of one on its way to a worker that ends. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { ConnectionDealer } from "../../../src/features/workers/connection-dealer.js";
import { until } from "../../support/until.js";

/** A dealer that listens, and what it has handed to which worker. */
async function dealing() {
  const dealer = new ConnectionDealer(SILENT);
  const port = await dealer.listen({ host: "127.0.0.1", port: 0 });
  const handed: { readonly worker: number; readonly id: number; readonly connection: Socket }[] = [];
  const open = (worker: number): void =>
    dealer.opened(worker, (id, connection) => void handed.push({ worker, id, connection }));
  const clients: Socket[] = [];
  /** A connection of a host; resolves when it is made. */
  const host = async (): Promise<Socket> => {
    const client = connect(port, "127.0.0.1").on("error", () => {});
    clients.push(client);
    await once(client, "connect");
    return client;
  };
  const come = (count: number) => until(`connection ${count}`, () => handed.length === count);
  onTestFinished(() => {
    dealer.close();
    for (const { connection } of handed) connection.destroy();
    for (const client of clients) client.destroy();
  });
  return { dealer, handed, open, host, come };
}
const closed = (socket: Socket): Promise<unknown> => once(socket.resume(), "close");

test("workers get connections in turn, each the next one when it has confirmed the last", async () => {
  const { dealer, handed, open, host, come } = await dealing();
  open(1);
  open(2);
  for (let count = 1; count <= 2; count += 1) {
    await host();
    await come(count);
  }
  await Promise.all([host(), host()]);
  expect(handed.map(({ worker }) => worker)).toEqual([1, 2]);
  dealer.confirmed(2, handed[1]!.id, true);
  await come(3);
  expect(handed[2]).toMatchObject({ worker: 2 });
  dealer.confirmed(1, handed[0]!.id, true);
  await come(4);
  expect(handed[3]).toMatchObject({ worker: 1 });
});

test("a connection on its way to a worker that ends is closed, and later ones go to the others", async () => {
  const { dealer, handed, open, host, come } = await dealing();
  open(1);
  const lost = await host();
  await come(1);
  const waits = await host();
  open(2);
  await come(2);
  expect(handed[1]).toMatchObject({ worker: 2 });
  dealer.ended(1);
  await closed(lost);
  expect(waits.destroyed).toBe(false);
});

test("a connection that a worker hands back, as it stops, goes to another one", async () => {
  const { dealer, handed, open, host, come } = await dealing();
  open(1);
  await host();
  await come(1);
  open(2);
  dealer.confirmed(1, handed[0]!.id, false);
  await come(2);
  expect(handed[1]).toMatchObject({ worker: 2, connection: handed[0]!.connection });
});

test("a connection waits for the next worker, five seconds if there is none", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { open, host, come } = await dealing();
  const early = await host();
  await until("its wait", () => vi.getTimerCount() === 1);
  vi.advanceTimersByTime(5_000);
  await closed(early);
  await host();
  await until("the next wait", () => vi.getTimerCount() === 1);
  vi.advanceTimersByTime(4_999);
  open(1);
  await come(1);
});

test("connections that waited for a busy worker wait no longer than five seconds after its end", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { dealer, open, host, come } = await dealing();
  open(1);
  await host();
  await come(1);
  const waits = await host();
  vi.advanceTimersByTime(60_000);
  expect(waits.destroyed).toBe(false);
  dealer.ended(1);
  await until("its wait", () => vi.getTimerCount() === 1);
  vi.advanceTimersByTime(5_000);
  await closed(waits);
});

test("once all workers have stopped connections are refused", async () => {
  const { dealer, handed, open, host, come } = await dealing();
  open(1);
  await host();
  await come(1);
  const late = await host();
  dealer.stopping();
  expect(late.destroyed).toBe(false);
  dealer.confirmed(1, handed[0]!.id, false);
  await closed(late);
  await expect(host()).rejects.toThrow("ECONNREFUSED");
});
