/** When a reader is cut off that leaves its answer lying, and when not. */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { fakePort, resultReply } from "../support/fake-port.js";
import { modernRequest } from "../support/http-host.js";
import { listening } from "../support/listening.js";

const STALL_MS = 1_200;
/** More than any buffer of the system takes. */
const LARGE = resultReply({ blob: "x".repeat(32 * 1024 * 1024) });

/** A host that asks for a large answer and reads what it is told to; and when it is cut off. */
async function reader() {
  const asked = performance.now();
  let notice: (at: number) => void = () => {};
  const cut = new Promise<number>((resolve) => {
    notice = resolve;
  });
  const port = fakePort({ handlers: { "resources/read": () => LARGE } });
  const logger = { ...SILENT, warn: () => notice(performance.now()) };
  const { port: number } = await listening({ port, logger, timeouts: { stallMs: STALL_MS } });
  const { headers = {}, body } = modernRequest("resources/read", { uri: "a:b" });
  const fields = { host: "localhost", ...headers, "content-length": String(body.length) };
  const socket = connect(number, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void socket.destroy());
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /mcp HTTP/1.1\r\n${head.join("")}\r\n${body}`);
  await once(socket, "readable");
  return { socket, cut, asked, begun: performance.now() };
}

/** The system may let this process stand for a moment, and with it the clock that measures the reader. */
const ATTEMPTS = 4;

test("who takes only what fits into its buffers is cut off when its time is over, not after twice that", async () => {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && least >= STALL_MS * 1.8; attempt += 1) {
    const { cut, asked, begun } = await reader();
    const at = await cut;
    expect(at - asked).toBeGreaterThan(STALL_MS - 100);
    least = Math.min(least, at - begun);
  }
  expect(least).toBeLessThan(STALL_MS * 1.8);
});

test("who is slow is left alone for as long as something is taken, and cut off when that stops", async () => {
  const { socket, cut, begun } = await reader();
  let cutAt = Number.POSITIVE_INFINITY;
  void cut.then((at) => {
    cutAt = at;
  });
  const takesSome = setInterval(() => socket.read(256 * 1024), 50);
  await pause(2 * STALL_MS);
  expect(cutAt - begun).toBe(Number.POSITIVE_INFINITY);
  clearInterval(takesSome);
  await cut;
});
