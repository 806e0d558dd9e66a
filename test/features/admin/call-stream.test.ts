/** A client of live calls that reads slowly, or not at all. */
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { CallStreams } from "../../../src/features/admin/call-stream.js";

test("a slow reader of the call stream loses the oldest rows, receives their number, and then the newest rows", async () => {
  let tell: (row: object) => void = () => {};
  let hasEnded: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    hasEnded = resolve;
  });
  const feed = {
    follow: (_: URLSearchParams, listener: (row: object) => void) => {
      tell = listener;
      return hasEnded;
    },
  };
  const streams = new CallStreams(feed, (row) => JSON.stringify(row));
  const server = createServer((_, response) => streams.serve(new URLSearchParams(), response, {}));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const request = get({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  const response = await new Promise<import("node:http").IncomingMessage>((resolve) =>
    request.once("response", resolve),
  );
  response.pause();
  const filler = "x".repeat(64 * 1024);
  const rows = 1000;
  for (let id = 1; id <= rows; id += 1) tell({ id, filler });

  let text = "";
  response.setEncoding("utf8");
  await new Promise<void>((resolve) => {
    response.on("data", (chunk: string) => {
      // The filler is at the end of a row: what is read is short, and so is every search in it.
      text += chunk.replaceAll("x".repeat(64), "");
      if (text.includes(`"id":${rows},`) && text.endsWith("\n\n")) resolve();
    });
    response.resume();
  });
  const ids = [...text.matchAll(/"id":(\d+),/g)].map(([, id]) => Number(id));
  const lost = [...text.matchAll(/event: lost\ndata: \{"lost":(\d+)\}/g)].map(([, count]) => Number(count));
  expect(lost).toHaveLength(1);
  expect(ids.length + (lost[0] ?? 0)).toBe(rows);
  expect(ids.slice(-200)).toEqual(Array.from({ length: 200 }, (_, at) => rows - 199 + at));
  request.destroy();
  await ended;
});
