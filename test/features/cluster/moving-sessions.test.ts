/** A session that is not over is never answered 404, whatever moves while a request for it is under way. */
import "../admin/needed.js";
import { writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { type ClientRequest, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type Fixture, startFixture } from "../../support/fixture.js";
import { type Host, openHost } from "../../support/host/host.mjs";
import { JSON_HEADERS, send } from "../../support/http-host.js";
import { sample } from "../../support/sample.js";
import { until } from "../../support/until.js";
import type { MemoryStore } from "./memory-store.js";
import { introduce, memoryStore, type Replica, startReplica, storedValues } from "./replicas.js";

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture("modern", "http");
});
afterAll(() => fixture.stop());

interface Running extends Replica {
  readonly connect: (isUp: boolean) => void;
}

async function joined(store: MemoryStore, cluster: object = {}): Promise<Running> {
  const view = store.view();
  const replica = await startReplica(view, { mcpServers: { one: fixture.entry } }, cluster);
  onTestFinished(() => replica.gateway.stop({ immediate: true }));
  return { ...replica, connect: (isUp) => view.connect(isUp) };
}

const registered = (store: MemoryStore): readonly string[] =>
  store.keys().filter((key) => key.startsWith("replica "));

async function clusterOf(count: number, options: object = {}) {
  const store = memoryStore();
  const replicas = await Promise.all(Array.from({ length: count }, () => joined(store, options)));
  await introduce(replicas);
  return { store, replicas };
}

const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
const BATCH = '[{"jsonrpc":"2.0","id":1,"method":"ping"}]';
const headersOf = (session = "") => ({ ...JSON_HEADERS, "mcp-session-id": session });
const openAt = (replica: Replica | undefined, options: object = {}): Promise<Host> =>
  openHost(replica?.url ?? "", "legacy", { agent: false, ...options });
const list = (replica: Replica | undefined, session: string | undefined) =>
  send(replica?.url ?? "", { headers: headersOf(session), body: LIST });
const recordOf = (store: MemoryStore, session = ""): readonly [owner?: string, record?: string] => {
  const [owner, record] = JSON.parse(store.get(`session:{${session}}`) ?? "[]") as string[];
  const opened = storedValues.open("owner", session, owner);
  return opened === undefined || record === undefined ? [] : [opened, record];
};
const give = (store: MemoryStore, session: string | undefined, owner = ""): void => {
  const [, record] = recordOf(store, session);
  const sealed = storedValues.seal("owner", session ?? "", owner);
  store.set(`session:{${session}}`, JSON.stringify([sealed, record]), 60_000);
};

/** A request whose head has arrived at the replica and whose body has not; `finish` sends it. */
async function begun({ url }: Replica, session: string | undefined, body: string) {
  let request: ClientRequest | undefined;
  const answered = new Promise<{ status: number; text: string; retryAfter?: string }>((resolve, reject) => {
    request = httpRequest(url, {
      method: "POST",
      agent: false,
      headers: { ...headersOf(session), "content-length": String(body.length), expect: "100-continue" },
    });
    request.once("error", reject);
    request.once("response", async (response) => {
      const text = (await response.toArray()).join("");
      const retryAfter = response.headers["retry-after"];
      resolve({ status: response.statusCode ?? 0, text, ...(retryAfter !== undefined && { retryAfter }) });
    });
  });
  await new Promise((resolve) => {
    request?.once("continue", resolve);
    request?.flushHeaders();
  });
  return () => {
    request?.end(body);
    return answered;
  };
}

const BODIES = [
  ["a request", LIST, 200],
  ["a notification", '{"jsonrpc":"2.0","method":"notifications/initialized"}', 202],
  ["an answer to a question", '{"jsonrpc":"2.0","id":7,"result":{}}', 202],
] as const;

test.each(sample("bodies of moved sessions", BODIES, 1))(
  "%s whose body arrives when its session has moved is served by the next owner",
  async (_, body, status) => {
    const { store, replicas } = await clusterOf(2);
    const [leaving, next] = replicas;
    if (leaving === undefined) throw new Error("no replica");
    const host = await openAt(leaving);
    const finish = await begun(leaving, host.session, body);
    const stopped = leaving.gateway.stop();
    await until("the session to move", () => recordOf(store, host.session)[0] === next?.id);
    expect((await finish()).status).toBe(status);
    await stopped;
  },
);

test("a batch whose body arrives when its session has moved is served by the next owner", async () => {
  const { store, replicas } = await clusterOf(2);
  const [leaving, next] = replicas;
  if (leaving === undefined) throw new Error("no replica");
  const host = await openAt(leaving, { revision: "2025-03-26" });
  const finish = await begun(leaving, host.session, BATCH);
  const stopped = leaving.gateway.stop();
  await until("the session to move", () => recordOf(store, host.session)[0] === next?.id);
  expect((await finish()).status).not.toBe(404);
  await stopped;
});

test("a request that a third replica forwards to the one that stops is served by the next owner, or 503", async () => {
  const { store, replicas } = await clusterOf(3);
  const [leaving, second] = replicas;
  if (leaving === undefined || second === undefined) throw new Error("no replica");
  const host = await openAt(leaving);
  const finish = await begun(second, host.session, LIST);
  const stopped = leaving.gateway.stop();
  await until("the session to move", () => recordOf(store, host.session)[0] !== leaving.id);
  const { status, retryAfter } = await finish();
  expect(status === 200 || (status === 503 && retryAfter === "1")).toBe(true);
  await stopped;
});

test("a replica that stops serves what is its own to others that connect to it only now", async () => {
  const { replicas } = await clusterOf(2);
  const [leaving, other] = replicas;
  const host = await openAt(leaving);
  const letGo = join(tmpdir(), `moving-${process.pid}`);
  onTestFinished(() => rm(letGo, { force: true }));
  // The session moves when its call has ended.
  const call = host.call("one__work", { label: "moving", steps: 1000, stepMs: 20, until: letGo });
  await until("the tool to run", () => fixture.ledger().some(({ label }) => label === "moving"));
  const stopped = leaving?.gateway.stop();
  await until("it to be leaving", async () =>
    (await (await fetch(`${other?.admin}/api/v1/cluster`)).text()).includes('"isLeaving":true'),
  );
  for (let at = 0; at < 3; at += 1) expect((await list(other, host.session)).status).toBe(200);
  writeFileSync(letGo, "");
  expect((await call).status).toBe(200);
  await stopped;
});

test("a replica that has just started keeps its session, and every other finds it", async () => {
  const { store, replicas } = await clusterOf(2);
  const [first, second] = replicas;
  // Both have read the directory a moment ago.
  await list(first, "zzzzz-unknown");
  await list(second, "zzzzz-unknown");
  const fresh = await joined(store);
  const host = await openAt(fresh);
  await until("its registration", () => registered(store).length === 3);
  expect((await list(first, host.session)).status).toBe(200);
  expect((await list(second, host.session)).status).toBe(200);
  expect(recordOf(store, host.session)[0]).toBe(fresh.id);
});

test("a session that moved is found at its owner while the store has lost its record, which is written again", async () => {
  const { store, replicas } = await clusterOf(3);
  const [leaving, second, third] = replicas;
  const host = await openAt(leaving);
  await leaving?.gateway.stop({ immediate: false });
  expect((await list(second, host.session)).status).toBe(200);
  const [owner] = recordOf(store, host.session);
  const other = owner === second?.id ? third : second;
  store.flush();
  expect((await list(other, host.session)).status).toBe(200);
  await until("the record", () => recordOf(store, host.session)[0] === owner);
  expect((await list(other, host.session)).status).toBe(200);
});

test("a request that was forwarded twice and arrives at no owner is 503", async () => {
  const { store, replicas } = await clusterOf(4);
  const [first, second, third, fourth] = replicas;
  const host = await openAt(first);
  // The first has lost it to the second while it stalled, and the second to the third.
  give(store, host.session, second?.id);
  first?.stall(11_000);
  expect((await list(first, host.session)).status).toBe(200);
  give(store, host.session, third?.id);
  second?.stall(11_000);
  const answers = await Promise.all([list(fourth, host.session), list(first, host.session)]);
  expect(answers.map(({ status }) => status).every((status) => status === 200 || status === 503)).toBe(true);
  await until("the session at its owner", async () => (await list(fourth, host.session)).status === 200);
});

test("GET and DELETE of a session that moved are served by the next owner", async () => {
  const { store, replicas } = await clusterOf(2);
  const [first, second] = replicas;
  const host = await openAt(first);
  give(store, host.session, second?.id);
  first?.stall(11_000);
  expect((await list(first, host.session)).status).toBe(200);
  const removed = await send(first?.url ?? "", { method: "DELETE", headers: headersOf(host.session) });
  expect(removed.status).toBe(204);
  expect((await list(first, host.session)).status).toBe(404);
  expect((await list(second, host.session)).status).toBe(404);
});

test("without the store a session that this replica cannot place is 503, and 404 when the store says that there is none", async () => {
  for (const options of [{}, { adopt: false }]) {
    const { replicas } = await clusterOf(2, options);
    const [first] = replicas;
    const unknown = "zzzzz-0b5e5a5c-0000-4000-8000-000000000000";
    first?.connect(false);
    const away = await list(first, unknown);
    expect([away.status, away.headers["retry-after"]]).toEqual([503, "1"]);
    first?.connect(true);
    expect((await list(first, unknown)).status).toBe(404);
  }
});

test("a session that ended is 404 at each replica, and so is one of another principal's endpoint", async () => {
  const { replicas } = await clusterOf(3);
  const [first, ...others] = replicas;
  const host = await openAt(first);
  const removed = await send(first?.url ?? "", { method: "DELETE", headers: headersOf(host.session) });
  expect(removed.status).toBe(204);
  for (const replica of [first, ...others]) expect((await list(replica, host.session)).status).toBe(404);
});
