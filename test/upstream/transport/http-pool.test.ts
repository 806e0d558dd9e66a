/** Connections to a name, which may lead elsewhere one day. */
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Channel } from "../../../src/upstream/transport/channel.js";
import { openHttpChannel } from "../../../src/upstream/transport/http.js";
import { HttpPool } from "../../../src/upstream/transport/http-pool.js";
import { openSseChannel } from "../../../src/upstream/transport/sse.js";
import type { Request } from "../../../src/wire/envelope.js";
import { answer, type ScriptedServer, scriptedServer, stream } from "../../support/servers/scripted-http.js";

/** At most `most` connections to `server` at `host`, which take new requests for `maxAgeMs`. */
function connections(server: ScriptedServer, host: string, maxAgeMs: number, addressTtlMs = 0, most = 100) {
  const url = server.url.replace("127.0.0.1", host);
  const pool = new HttpPool({ url, connectTimeoutMs: 60_000, maxAgeMs, addressTtlMs, connections: most });
  const channel = openHttpChannel({ name: "quiz", url, headers: {}, connectTimeoutMs: 60_000, pool });
  onTestFinished(() => channel.close());
  onTestFinished(() => pool.destroy());
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
  onTestFinished(() => server.close());
  return { server, release };
}

test("are kept between requests", async () => {
  const { server } = await serve();
  const { channel } = connections(server, "localhost", 60_000);
  for (let i = 0; i < 10; i += 1) await ask(channel);
  expect(server.connections.made).toBe(1);
});

test("are replaced after a while, without disturbing pending requests", async () => {
  const { server, release } = await serve();
  const { channel } = connections(server, "localhost", 0);
  const held = ask(channel, "hold");
  for (let i = 0; i < 9; i += 1) await ask(channel);
  release();
  expect(await held).toBeDefined();
  expect(server.connections.made).toBe(10);
});

test("are kept at any age if the URL has an address and no name", async () => {
  const { server } = await serve();
  const { channel } = connections(server, "127.0.0.1", 0);
  for (let i = 0; i < 10; i += 1) await ask(channel);
  expect(server.connections.made).toBe(1);
});

test("are closed with their owner, replaced ones too", async () => {
  const { server } = await serve();
  const { channel, pool } = connections(server, "localhost", 0);
  const held = expect(ask(channel, "hold")).rejects.toMatchObject({ code: "upstream_closed" });
  await ask(channel);
  await server.request(1);
  await pool.destroy();
  await held;
});

test("are limited: further requests are queued, and a cancelled one leaves the queue", async () => {
  const { server, release } = await serve();
  const { channel } = connections(server, "127.0.0.1", 0, 0, 1);
  const held = ask(channel, "hold");
  const givenUp = new AbortController();
  const hasty = channel.exchange(call("echo"), { signal: givenUp.signal });
  const patient = ask(channel);
  givenUp.abort();
  await expect(hasty).rejects.toMatchObject({ code: "cancelled" });
  release();
  expect(await held).toBeDefined();
  expect(await patient).toBeDefined();
  expect(server.connections.made).toBe(1);
});

test("that are replaced serve their queued requests first", async () => {
  const { server, release } = await serve();
  const { channel } = connections(server, "localhost", 0, 0, 1);
  const held = ask(channel, "hold");
  const waiting = ask(channel, "echo");
  release();
  expect(await held).toBeDefined();
  expect(await waiting).toBeDefined();
});

test("are closed with their owner, and queued requests fail", async () => {
  const { server } = await serve();
  const { channel, pool } = connections(server, "127.0.0.1", 0, 0, 1);
  const both = [ask(channel, "hold"), ask(channel)].map((asked) =>
    expect(asked).rejects.toMatchObject({ retryable: true }),
  );
  await pool.destroy();
  await Promise.all(both);
});

describe("if the name resolves to another address", () => {
  /** Two servers of one name on one port; it leads to the first, until `lead` says otherwise. */
  async function two() {
    const respond: Parameters<typeof scriptedServer>[0] = (asked, response) => {
      if (asked.method === "GET") stream(response, "event: endpoint\ndata: /mcp\n\n");
      else answer(asked, response);
    };
    const first = await scriptedServer(respond);
    const second = await scriptedServer(respond, {
      host: "127.0.0.2",
      port: Number(new URL(first.url).port),
    });
    let addresses = ["127.0.0.1"];
    const lookup = vi.spyOn(dns, "lookup").mockImplementation(((
      _name: string,
      { all = false }: { all?: boolean },
      done: (error: null, found: unknown, family?: number) => void,
    ) => {
      const found = addresses.map((address) => ({ address, family: 4 }));
      setImmediate(() => (all ? done(null, found) : done(null, found[0]?.address, 4)));
    }) as unknown as typeof dns.lookup);
    syncBuiltinESMExports();
    onTestFinished(() => first.close());
    onTestFinished(() => second.close());
    onTestFinished(async () => {
      lookup.mockRestore();
      syncBuiltinESMExports();
    });
    const lead = (...now: string[]): void => {
      addresses = now;
    };
    return { first, second, lead };
  }

  const streams = ({ asked }: ScriptedServer) => asked.filter(({ method }) => method === "GET");

  test("an event stream is reopened there, and the old one is closed", async () => {
    const { first, second, lead } = await two();
    const { channel } = connections(first, "upstream.test", 0);
    const onMissed = vi.fn<() => void>();
    expect(await channel.listen(() => {}, { onMissed }).opened).toBe(true);
    lead("127.0.0.2");
    await ask(channel);
    expect(await streams(first)[0]?.hungUp).toBe(true);
    await vi.waitFor(() => expect(streams(second)).toHaveLength(1), { timeout: 60_000 });
    await vi.waitFor(() => expect(onMissed).toHaveBeenCalledTimes(1), { timeout: 60_000 });
  });

  test("an event stream stays if the name still resolves to its address among others", async () => {
    const { first, second, lead } = await two();
    const { channel, pool } = connections(first, "upstream.test", 0);
    expect(await channel.listen(() => {}).opened).toBe(true);
    const moved = vi.fn<() => void>();
    pool.onAddressChange(moved);
    lead("127.0.0.2", "127.0.0.1");
    for (let i = 0; i < 5; i += 1) await ask(channel);
    expect(moved).not.toHaveBeenCalled();
    expect(streams(second)).toHaveLength(0);
  });

  test("an event stream is not moved if the name resolves to other addresses each time", async () => {
    const { first, lead } = await two();
    const { channel, pool } = connections(first, "upstream.test", 0, 60_000);
    expect(await channel.listen(() => {}).opened).toBe(true);
    const moved = vi.fn<() => void>();
    pool.onAddressChange(moved);
    for (let i = 0; i < 6; i += 1) {
      lead(`127.0.0.${1 + (i % 2)}`);
      await ask(channel);
    }
    expect(moved).not.toHaveBeenCalled();
    expect(streams(first)).toHaveLength(1);
  });

  test("a session that is its event stream ends, because the new address does not know it", async () => {
    const { first, lead } = await two();
    const { pool } = connections(first, "upstream.test", 0);
    const url = first.url.replace("127.0.0.1", "upstream.test");
    const channel = await openSseChannel({ name: "quiz", url, headers: {}, connectTimeoutMs: 60_000, pool });
    lead("127.0.0.2");
    await channel.post({ jsonrpc: "2.0", method: "notifications/initialized" }).catch(() => {});
    expect((await channel.closed).message).toBe("quiz resolves to another address now");
  });
});
