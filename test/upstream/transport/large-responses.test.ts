/** How much of a large response is received before others have their turn. */
import type { Dispatcher } from "undici";
import { expect, test } from "vitest";
import { cooperativeYield } from "../../../src/runtime/cooperative-yield.js";
import type { HttpPool } from "../../../src/upstream/transport/http-pool.js";
import { HttpRequest } from "../../../src/upstream/transport/http-request.js";
import type { HttpTarget } from "../../../src/upstream/transport/http-target.js";
import { fakeTime, pass } from "../../support/fake-time.js";

const CHUNK = Buffer.alloc(512 * 1024);

fakeTime();

/** A request whose response the test delivers. */
function answered() {
  const flow: string[] = [];
  let received = 0;
  const controller = {
    pause: () => void flow.push("pause"),
    resume: () => void flow.push("resume"),
  } as unknown as Dispatcher.DispatchController;
  const pool: Pick<HttpPool, "dispatch" | "settled"> = {
    dispatch: (_, request) => request.onRequestStart?.(controller, undefined),
    settled: () => {},
  };
  const target = { pool, path: "/mcp" } as unknown as HttpTarget;
  const http = new HttpRequest(
    target,
    { method: "POST", headers: {} },
    {
      head: () => {},
      data: (chunk) => {
        received += chunk.length;
      },
      end: () => {},
      fail: () => {},
    },
    undefined,
  );
  http.onResponseStart(controller, 200, {});
  const give = (chunks: number) => {
    for (let at = 0; at < chunks; at += 1) http.onResponseData(controller, CHUNK);
  };
  return { http, flow, give, received: () => received };
}

test("after 2 MiB a response is paused until its step, and what came by then is received", async () => {
  const { flow, give, received } = answered();
  give(3);
  expect(flow).toEqual([]);
  give(2);
  expect(flow).toEqual(["pause"]);
  expect(received()).toBe(5 * CHUNK.length);
  await cooperativeYield();
  await cooperativeYield();
  expect(flow).toEqual(["pause", "resume"]);
});

test("a response that its receiver has paused continues only when both let it", async () => {
  const { http, flow, give } = answered();
  give(4);
  http.pause();
  await cooperativeYield();
  await cooperativeYield();
  expect(flow).toEqual(["pause", "pause"]);
  http.resume();
  expect(flow).toEqual(["pause", "pause", "resume"]);
  give(4);
  http.pause();
  http.resume();
  expect(flow.slice(3)).toEqual(["pause", "pause"]);
  await cooperativeYield();
  await cooperativeYield();
  expect(flow.slice(3)).toEqual(["pause", "pause", "resume"]);
});

test("an event stream that delivers as much in hours is not paused", async () => {
  const { flow, give } = answered();
  for (let hour = 0; hour < 20; hour += 1) {
    await pass(3_600_000);
    give(1);
  }
  expect(flow).toEqual([]);
});
