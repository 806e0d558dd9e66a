/** How many connections are let in, when a reader is cut off that leaves its answer lying, and when an idle connection is closed. */
import type { Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { ConnectionTimeouts, connectionLimit } from "../../src/downstream/connections.js";

test.each([
  [256, 128],
  [1_024, 512],
  [20_000, 15_000],
  [1_048_576, 20_000],
  [Number.MAX_SAFE_INTEGER, 20_000],
  [1, 1],
])("of %d descriptors", (descriptors, connections) => {
  expect(connectionLimit(descriptors)).toBe(connections);
});

test("of those that this process has", () => {
  expect(connectionLimit()).toBeGreaterThan(0);
});

const STALL_MS = 30_000;
const STEP_MS = STALL_MS / 20;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/**
 * A connection as Node has it: its time-out is put off for its whole length where something was taken since it was set
 * or last put off, and comes once.
 */
class Connection {
  writableLength = 0;
  bytesRead = 0;
  timeout: number | undefined;
  closedAt: number | undefined;
  readonly #onTimeout: (socket: Socket) => void;
  #timer: NodeJS.Timeout | undefined;
  #isTaken = false;
  #onClose = (): void => {};

  constructor(onTimeout: (socket: Socket) => void) {
    this.#onTimeout = onTimeout;
  }

  get socket(): Socket {
    return this as unknown as Socket;
  }

  on(_close: string, heard: () => void): void {
    this.#onClose = heard;
  }

  setTimeout(ms: number): void {
    this.timeout = ms;
    clearTimeout(this.#timer);
    this.#isTaken = false;
    if (ms > 0) this.#timer = setTimeout(() => this.#isOver(ms), ms);
  }

  /** The reader takes a part of what waits. */
  takes(bytes: number): void {
    this.writableLength -= bytes;
    this.#isTaken = true;
  }

  destroy(): void {
    this.closedAt ??= performance.now();
    clearTimeout(this.#timer);
    this.#onClose();
  }

  #isOver(ms: number): void {
    if (this.#isTaken) this.setTimeout(ms);
    else this.#onTimeout(this.socket);
  }
}

describe("while an answer is written", () => {
  function answering(bytes: number) {
    const warn = vi.fn();
    const quiet = new ConnectionTimeouts({ stallMs: STALL_MS, logger: { ...SILENT, warn } });
    const connection = new Connection(quiet.onResponseTimeout);
    quiet.watch(connection.socket);
    connection.writableLength = bytes;
    return { connection, warn };
  }

  test("a reader that only drains its socket buffers is disconnected at the timeout, not after twice that", async () => {
    const { connection, warn } = answering(1_000);
    connection.takes(100);
    await vi.advanceTimersByTimeAsync(2 * STALL_MS);
    expect(connection.closedAt).toBeGreaterThanOrEqual(STALL_MS);
    expect(connection.closedAt).toBeLessThanOrEqual(STALL_MS + 2 * STEP_MS);
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      { bytes: 900 },
      "a stalled connection was closed: the client does not read",
    );
  });

  test("a slow reader stays connected while it makes progress, and is disconnected when it stalls", async () => {
    const { connection } = answering(1_000);
    for (let second = 0; second < 100; second += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      connection.takes(1);
    }
    expect(connection.closedAt).toBeUndefined();
    const stopped = performance.now();
    await vi.advanceTimersByTimeAsync(2 * STALL_MS);
    expect(connection.closedAt).toBeGreaterThanOrEqual(stopped + STALL_MS - STEP_MS);
    expect(connection.closedAt).toBeLessThanOrEqual(stopped + STALL_MS + 3 * STEP_MS);
  });

  test("a call may be quiet for as long as it takes", async () => {
    const { connection } = answering(0);
    connection.setTimeout(5_000);
    await vi.advanceTimersByTimeAsync(100 * STALL_MS);
    expect(connection.closedAt).toBeUndefined();
    connection.destroy();
  });
});

describe("an idle connection", () => {
  const PROMISED_MS = 5_000;

  function idle(): Connection {
    const quiet = new ConnectionTimeouts({ stallMs: STALL_MS, logger: SILENT });
    const connection = new Connection(quiet.onServerTimeout);
    quiet.watch(connection.socket);
    connection.setTimeout(PROMISED_MS);
    return connection;
  }

  test("is kept one second longer than its Keep-Alive header says, and no longer", async () => {
    const connection = idle();
    await vi.advanceTimersByTimeAsync(PROMISED_MS + 999);
    expect(connection.closedAt).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2);
    expect(connection.closedAt).toBeDefined();
  });

  test("that is used within that second restarts its keep-alive time", async () => {
    const connection = idle();
    await vi.advanceTimersByTimeAsync(PROMISED_MS + 500);
    connection.bytesRead += 100;
    connection.setTimeout(PROMISED_MS);
    await vi.advanceTimersByTimeAsync(PROMISED_MS + 999);
    expect(connection.closedAt).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2);
    expect(connection.closedAt).toBeDefined();
  });
});
