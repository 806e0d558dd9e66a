/** Two workers: a result is read wherever a request arrives, at the one that keeps it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Host } from "../../support/host/host.mjs";
import type { Json } from "../../support/peers/host.js";
import { type RecordingServer, recordingServer } from "../../support/servers/recording-server.js";
import { type Served, serveByTwo, times } from "../workers/two-workers.js";
import { idOf, LARGE, textOf } from "./support.js";

let server: RecordingServer;
let served: Served;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await recordingServer("big", "modern", LARGE, () => {}, LARGE.answer);
  served = await serveByTwo((end) => void ends.push(end), {
    results: { maxTokens: 500 },
    mcpServers: { big: { type: "http", url: server.url } },
  });
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
  await server.close();
});

const call = async (id: string, name: string, args: Json = {}): Promise<Json> => {
  const host = new Host(served.url, "modern", { agent: false });
  return (await host.send(id, "tools/call", { name, arguments: args })).result as Json;
};

test("each of eight results is read by eight requests, each over a connection of its own", async () => {
  const ids = await times(8, async (at) => idOf(await call(`call-${at}`, "big__prose")));
  for (const id of ids) expect(id).toMatch(/^[12]-[0-9a-f]{32}$/);
  const pages = await times(64, (at) =>
    call(`read-${at}`, "read_result", { id: ids[at % 8] ?? "", limit: 1 }),
  );
  expect(new Set(pages.map(textOf))).toEqual(new Set(["line 0: the quick brown fox"]));
});
