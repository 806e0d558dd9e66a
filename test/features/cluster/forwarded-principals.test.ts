/** Hosts with credentials at replicas whose store an attacker writes: who is served, as whom, and what is sent where. */
import { createHash } from "node:crypto";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { testOf } from "../../support/features.js";
import { type Fixture, startFixture } from "../../support/fixture.js";
import { openHost } from "../../support/host/host.mjs";
import { JSON_HEADERS, send } from "../../support/http-host.js";
import { introduce, memoryStore, peerUrlOf, type Replica, startReplica, storedValues } from "./replicas.js";

/** The gateway of these tests has rules. */
const test = testOf("policy");

const KEYS = { ann: "the-key-of-ann", bob: "the-key-of-bob" } as const;
const store = memoryStore();
let fixture: Fixture;
let replicas: readonly [Replica, Replica];

beforeAll(async () => {
  fixture = await startFixture("modern", "http");
  const hashOf = (key: string): string => `sha256:${createHash("sha256").update(key).digest("hex")}`;
  const config = {
    mcpServers: { one: fixture.entry },
    auth: {
      keys: [
        { id: "ann", hash: hashOf(KEYS.ann), groups: ["ops"] },
        { id: "bob", hash: hashOf(KEYS.bob) },
      ],
    },
    policy: {
      default: "deny",
      rules: [{ tools: ["one__echo"], principals: ["ann"], effect: "allow" }],
    },
  };
  replicas = [await startReplica(store.view(), config), await startReplica(store.view(), config)];
  await introduce(replicas);
});
afterAll(async () => {
  for (const { gateway } of replicas) await gateway.stop({ immediate: true });
  await fixture.stop();
});

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const sessionOf = async (replica: Replica, key: string = KEYS.ann): Promise<string> =>
  (await openHost(replica.url, "legacy", { agent: false, headers: bearer(key) })).session ?? "";
const call = (url: string, session: string, headers: Record<string, string>) =>
  send(url, {
    headers: { ...JSON_HEADERS, ...headers, "mcp-session-id": session },
    body: JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name: "one__echo", arguments: { value: "the argument" } },
    }),
  });

test("a forwarded request is served as the principal that the first replica has authenticated", async () => {
  const [one, two] = replicas;
  const session = await sessionOf(one);
  expect((await call(two.url, session, bearer(KEYS.ann))).text).toContain("the argument");
  // Another principal's session is none of this one's, at either replica.
  for (const { url } of replicas) expect((await call(url, session, bearer(KEYS.bob))).status).toBe(404);
});

test.each([
  ["without credentials", {}],
  ["with a key that is unknown or was revoked", bearer("another")],
  ["with a principal of its own making", { "cardea-peer": "2.eyJwcmluY2lwYWwiOiJhbm4ifQ.x" }],
])("a request %s is refused at the replica where it arrives", async (_, headers) => {
  const [one, two] = replicas;
  const session = await sessionOf(one);
  expect((await call(two.url, session, headers)).status).toBe(401);
});

test("the listener for replicas takes no credentials of a host", async () => {
  const [one] = replicas;
  const session = await sessionOf(one);
  const answer = await call(`${peerUrlOf(store, one.id)}/mcp`, session, bearer(KEYS.ann));
  expect([answer.status, answer.text]).toEqual([403, expect.not.stringContaining("the argument")]);
});

test.each([
  ["a replica that is made up", "zzzzz"],
  ["the replica itself", undefined],
])(
  "an attacker that registers its address for %s receives no request and no credential",
  async (_, invented) => {
    const [one, two] = replicas;
    const session = await sessionOf(one);
    const heard: string[] = [];
    const attacker = createServer((socket) => {
      socket
        .on("error", () => {})
        .on("data", (chunk) => {
          heard.push(String(chunk));
          socket.write("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged");
        });
    });
    await new Promise<void>((resolve) => attacker.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void attacker.close());
    const url = `http://127.0.0.1:${(attacker.address() as AddressInfo).port}`;
    const id = invented ?? one.id;
    const before = store.get(`replica ${id}`);
    const named = session.replace(/^[^-]+/, id);
    for (const schema of [1, 2]) {
      const entry = JSON.stringify({ schema, beat: 1e9, url, version: "1", isLeaving: false });
      store.set(`replica ${id}`, entry, 60_000);
      store.set(`session:{${named}}`, JSON.stringify([id, "{}"]), 60_000);
      for (const at of [session, named]) {
        const answer = await call(two.url, at, bearer(KEYS.ann));
        expect(answer.text).not.toContain("forged");
        expect([200, 404, 503]).toContain(answer.status);
      }
    }
    // Sealed with the key, as by a replica whose address another program has by now: it still does not prove itself.
    store.set(
      `replica ${id}`,
      storedValues.seal("replica", id, JSON.stringify({ schema: 2, beat: 1e9, url, version: "1" })),
      60_000,
    );
    const last = await call(two.url, named, bearer(KEYS.ann));
    expect([last.status, last.text]).toEqual([expect.any(Number), expect.not.stringContaining("forged")]);
    expect(heard.join()).not.toMatch(/the argument|the-key|authorization|mcp-session-id|principal/i);
    if (before !== undefined) store.set(`replica ${id}`, before, 60_000);
    else store.delete(`replica ${id}`);
  },
);
