/** Replicas that know each other by certificates, in addition to the key. */
import "../admin/needed.js";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CERTIFICATE, KEY } from "../../support/certificates.js";
import { type Fixture, startFixture } from "../../support/fixture.js";
import { openHost } from "../../support/host/host.mjs";
import { JSON_HEADERS, send } from "../../support/http-host.js";
import { introduce, memoryStore, peerUrlOf, type Replica, startReplica } from "./replicas.js";

const store = memoryStore();
const folder = mkdtempSync(join(tmpdir(), "cardea-mtls-"));
let fixture: Fixture;
let replicas: readonly [Replica, Replica];

beforeAll(async () => {
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const cert = file("cert.pem", CERTIFICATE);
  const mtls = { ca: cert, cert, key: file("key.pem", KEY) };
  fixture = await startFixture("modern", "http");
  const start = () =>
    startReplica(
      store.view(),
      { mcpServers: { one: fixture.entry } },
      { peers: { listen: "localhost:0", mtls } },
    );
  replicas = [await start(), await start()];
  await introduce(replicas);
});
afterAll(async () => {
  for (const { gateway } of replicas) await gateway.stop({ immediate: true });
  await fixture.stop();
  rmSync(folder, { recursive: true });
});

const urlOf = ({ id }: Replica): string => peerUrlOf(store, id);

test("a session is served at each replica, over TLS between them", async () => {
  const [one, two] = replicas;
  expect(urlOf(one)).toMatch(/^https:\/\/localhost:\d+$/);
  const host = await openHost(one.url, "legacy", { agent: false });
  const params = { name: "one__echo", arguments: { value: "across" } };
  const answer = await send(two.url, {
    headers: { ...JSON_HEADERS, "mcp-session-id": host.session ?? "" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("across")]);
  const text = await (await fetch(`${two.admin}/metrics`)).text();
  expect(text).toContain('cardea_cluster_forwards_total{outcome="answered"} 1');
});

test("a connection without a client certificate is closed before any request is read", async () => {
  const url = `${urlOf(replicas[0])}/cluster/replica`;
  const asked = new Promise((resolve, reject) => {
    request(url, { ca: CERTIFICATE, agent: false }, resolve).on("error", reject).end();
  });
  await expect(asked).rejects.toThrow(/alert|certificate|ECONNRESET|EPIPE|hang up/i);
});
