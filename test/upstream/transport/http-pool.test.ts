/** Connections to a name, which may lead elsewhere one day. */
import { afterEach, expect, test } from "vitest";
import type { Channel } from "../../../src/upstream/transport/channel.js";
import { openHttpChannel } from "../../../src/upstream/transport/http.js";
import { HttpPool } from "../../../src/upstream/transport/http-pool.js";
import type { Request } from "../../../src/wire/envelope.js";
import { answer, type ScriptedServer, scriptedServer } from "../../support/servers/scripted-http.js";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Connections of `server` by the name or the address in its URL, used for so long. */
function connections(server: ScriptedServer, host: string, lastsMs: number) {
  const url = server.url.replace("127.0.0.1", host);
  const pool = new HttpPool({ url, connectTimeoutMs: 1_000, lastsMs });
  const channel = openHttpChannel({ name: "quiz", url, headers: {}, connectTimeoutMs: 1_000, pool });
  cleanups.push(
    () => channel.close(),
    () => pool.destroy(),
  );
  return { channel, pool };
}

let lastId = 0;
const call = (method: string): Request => {
  lastId += 1;
  return { jsonrpc: "2.0", id: lastId, method };
};
const ask = async (channel: Channel, method = "echo") =>
  (await channel.exchange(call(method))).message.result;

async function serve() {
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const server = await scriptedServer(async (asked, response) => {
    if (asked.body.includes("hold")) await held;
    answer(asked, response);
  });
  cleanups.push(() => server.close());
  return { server, release };
}

test("are kept between requests", async () => {
  const { server } = await serve();
  const { channel } = connections(server, "localhost", 60_000);
  for (let i = 0; i < 10; i += 1) await ask(channel);
  // The next request may come before the connection is known to be free.
  expect(server.connections.made).toBeLessThanOrEqual(2);
});

test("are replaced when they were used for long, and what is under way on them is not disturbed", async () => {
  const { server, release } = await serve();
  const { channel } = connections(server, "localhost", 0);
  const held = ask(channel, "hold");
  for (let i = 0; i < 9; i += 1) await ask(channel);
  release();
  expect(await held).toBeDefined();
  expect(server.connections.made).toBe(10);
});

test("are kept as long as they last where there is no name that could lead elsewhere", async () => {
  const { server } = await serve();
  const { channel } = connections(server, "127.0.0.1", 0);
  for (let i = 0; i < 10; i += 1) await ask(channel);
  // The next request may come before the connection is known to be free.
  expect(server.connections.made).toBeLessThanOrEqual(2);
});

test("end with their owner, those that were replaced as well", async () => {
  const { server } = await serve();
  const { channel, pool } = connections(server, "localhost", 0);
  const held = expect(ask(channel, "hold")).rejects.toMatchObject({ code: "upstream_closed" });
  await ask(channel);
  await pool.destroy();
  await held;
});
