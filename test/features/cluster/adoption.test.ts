/** Sessions that outlive their replica: taken over by another one under the same id, so that the host notices nothing. */
import "../admin/needed.js";
import { writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Fixture, fixtureCommand, startFixture } from "../../support/fixture.js";
import { type Host, type Json, openHost, textOf } from "../../support/host/host.mjs";
import { JSON_HEADERS, send } from "../../support/http-host.js";
import { roundRobin } from "../../support/round-robin.js";
import { until } from "../../support/until.js";
import type { MemoryStore, StoreView } from "./memory-store.js";
import { introduce, memoryStore, type Replica, startReplica, storedValues } from "./replicas.js";

let fixture: Fixture;
beforeAll(async () => {
  fixture = await startFixture("modern", "http");
});
afterAll(() => fixture.stop());

interface Running extends Replica {
  readonly store: StoreView;
  stop(): Promise<void>;
}

interface Cluster {
  readonly store: MemoryStore;
  readonly replicas: readonly Running[];
  /** Of a balancer that sends each request to the next of `inFront`. */
  readonly url: string;
  inFront: readonly Replica[];
}

async function clusterOf(count: number, options: object = {}, one: object = fixture.entry): Promise<Cluster> {
  const store = memoryStore();
  const run = async (): Promise<Running> => {
    const view = store.view();
    const replica = await startReplica(view, { mcpServers: { one } }, options);
    let stopped: Promise<void> | undefined;
    const stop = (): Promise<void> => {
      stopped ??= replica.gateway.stop({ immediate: true });
      return stopped;
    };
    onTestFinished(stop);
    return { ...replica, store: view, stop };
  };
  const replicas = await Promise.all(Array.from({ length: count }, run));
  const cluster = { store, replicas, url: "", inFront: replicas as readonly Replica[] };
  const balancer = await roundRobin(() => cluster.inFront.map(({ url }) => url));
  onTestFinished(() => balancer.close());
  await introduce(replicas);
  return Object.assign(cluster, { url: balancer.url });
}

/** Ends a replica as a crash does: nothing of it is handed over, and its port refuses connections. */
async function crash(cluster: Cluster, at: number): Promise<void> {
  const replica = cluster.replicas[at];
  cluster.inFront = cluster.inFront.filter((each) => each.id !== replica?.id);
  replica?.store.connect(false);
  await replica?.stop();
}

const echo = async (host: Host, value: string): Promise<string | undefined> =>
  textOf((await host.call("one__echo", { value })).message);
const openAt = (url = "", options: object = {}): Promise<Host> =>
  openHost(url, "legacy", { agent: false, ...options });
const listTools = (url: string, id: string | undefined, path = "") =>
  send(`${url}${path}`, {
    headers: { ...JSON_HEADERS, "mcp-session-id": id ?? "" },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  });
const owner = ({ store }: Cluster, id = ""): string | undefined => {
  const [recorded] = JSON.parse(store.get(`session:{${id}}`) ?? "[]") as unknown[];
  return storedValues.open("owner", id, recorded);
};

describe("a session whose replica has crashed", () => {
  test("continues at another one, and its host is notified that lists may have changed", async () => {
    const cluster = await clusterOf(2);
    const host = await openAt(cluster.url);
    const mine = cluster.replicas.findIndex(({ id }) => host.session?.startsWith(id));
    await host.request("logging/setLevel", { level: "error" });
    expect(await echo(host, "before")).toContain("before");
    await crash(cluster, mine);
    expect(await echo(host, "after")).toContain("after");
    const heard: unknown[] = [];
    const stream = await host.stream({ onMessage: ({ method }: Json) => heard.push(method) });
    await until("the news of the lists", () => heard.includes("notifications/tools/list_changed"));
    await stream.stop();
    const next = cluster.replicas[1 - mine];
    expect(owner(cluster, host.session)).toBe(next?.id);
    expect(await (await fetch(`${next?.admin}/metrics`)).text()).toContain(
      'cardea_cluster_adoptions_total{outcome="adopted"} 1',
    );
  });

  test("continues at another one if the store lost its data, and the replicas did not notice an outage", async () => {
    const cluster = await clusterOf(2);
    const host = await openAt(cluster.url);
    const mine = cluster.replicas.findIndex(({ id }) => host.session?.startsWith(id));
    cluster.store.flush();
    await until("the record to be written again", () => owner(cluster, host.session) !== undefined);
    await crash(cluster, mine);
    expect(await echo(host, "after")).toContain("after");
  });

  test("is taken over by one replica if two receive requests concurrently", async () => {
    const cluster = await clusterOf(3);
    const host = await openAt(cluster.replicas[0]?.url);
    await crash(cluster, 0);
    const asked = cluster.inFront.flatMap(({ url }) => [url, url]).map((url) => listTools(url, host.session));
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const took = cluster.inFront.map(async ({ admin }) => (await fetch(`${admin}/metrics`)).text());
    const adopted = (await Promise.all(took)).filter((text) => text.includes('{outcome="adopted"} 1'));
    expect(adopted).toHaveLength(1);
  });

  test("returns to the replica that issued it, where that one had stalled", async () => {
    const cluster = await clusterOf(2);
    const [first, second] = cluster.replicas as readonly [Running, Running];
    const host = await openAt(first.url);
    const key = `session:{${host.session}}`;
    const [, record] = JSON.parse(cluster.store.get(key) ?? "[]") as unknown[];
    cluster.store.set(
      key,
      JSON.stringify([storedValues.seal("owner", host.session ?? "", second.id), record]),
      60_000,
    );
    first.stall(11_000);
    expect((await listTools(first.url, host.session)).status).toBe(200);
    await crash(cluster, 1);
    expect((await listTools(first.url, host.session)).status).toBe(200);
    expect(owner(cluster, host.session)).toBe(first.id);
  });

  test("is 404 at another endpoint, and for an id that was never issued", async () => {
    const cluster = await clusterOf(2);
    const host = await openAt(cluster.replicas[0]?.url);
    await crash(cluster, 0);
    const url = cluster.replicas[1]?.url ?? "";
    expect((await listTools(url, host.session, "/one")).status).toBe(404);
    expect((await listTools(url, `${cluster.replicas[0]?.id}-never`)).status).toBe(404);
    expect((await listTools(url, host.session)).status).toBe(200);
  });

  test("is 404 if its record has another format, or takeover is disabled", async () => {
    const cluster = await clusterOf(2);
    const host = await openAt(cluster.replicas[0]?.url);
    const key = `session:{${host.session}}`;
    await crash(cluster, 0);
    cluster.store.set(key, JSON.stringify([cluster.replicas[0]?.id, '{"schema":2}']), 60_000);
    expect((await listTools(cluster.replicas[1]?.url ?? "", host.session)).status).toBe(404);

    const others = await clusterOf(2, { adopt: false });
    const second = await openAt(others.replicas[0]?.url);
    await crash(others, 0);
    expect((await listTools(others.replicas[1]?.url ?? "", second.session)).status).toBe(404);
  });

  test("is 503 with a retry hint while the store is unavailable", async () => {
    const cluster = await clusterOf(2);
    const host = await openAt(cluster.replicas[0]?.url);
    await crash(cluster, 0);
    const [, next] = cluster.replicas;
    next?.store.connect(false);
    const refused = await listTools(next?.url ?? "", host.session);
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);
    next?.store.connect(true);
    expect((await listTools(next?.url ?? "", host.session)).status).toBe(200);
  });
});

describe("a session at a server that runs as a process", () => {
  test("reports the new process with the first result, and not again", async () => {
    const cluster = await clusterOf(2, {}, fixtureCommand("modern"));
    const host = await openAt(cluster.url);
    const mine = cluster.replicas.findIndex(({ id }) => host.session?.startsWith(id));
    const meta = async () => {
      const { message } = await host.call("one__echo", { value: "x" });
      return (message as { result?: { _meta?: object } }).result?._meta ?? {};
    };
    expect(await meta()).not.toHaveProperty("cardea/adopted");
    await crash(cluster, mine);
    expect(await meta()).toHaveProperty("cardea/adopted", true);
    expect(await meta()).not.toHaveProperty("cardea/adopted");
  });
});

describe("a call whose replica crashes", () => {
  test("ends with one error for the host that resumes its stream, and has run once", async () => {
    const cluster = await clusterOf(2);
    const host = await openAt(cluster.replicas[0]?.url);
    const letGo = join(tmpdir(), `adoption-${process.pid}-let-go`);
    onTestFinished(() => rm(letGo, { force: true }));
    const headers = {
      ...{ "mcp-session-id": host.session ?? "", accept: "text/event-stream" },
      "mcp-protocol-version": "2025-11-25",
    };
    const call = await fetch(cluster.replicas[0]?.url ?? "", {
      method: "POST",
      headers: { ...headers, ...JSON_HEADERS },
      body: JSON.stringify({
        ...{ jsonrpc: "2.0", id: "the call", method: "tools/call" },
        params: {
          name: "one__work",
          arguments: { label: "crash", steps: 1000, stepMs: 20, until: letGo },
          _meta: { progressToken: 1 },
        },
      }),
    });
    const lastId = /^id: ?(.*)$/m.exec(await firstChunk(call))?.[1] ?? "none";
    await until("the tool to run", () => fixture.ledger().some(({ label }) => label === "crash"));
    await crash(cluster, 0);
    writeFileSync(letGo, "");
    const again = await fetch(cluster.replicas[1]?.url ?? "", {
      headers: { ...headers, "last-event-id": lastId },
    });
    const text = await again.text();
    expect(text.match(/"id":"the call"/g)).toHaveLength(1);
    expect(text).toContain('"outcome_unknown"');
    const begun = fixture.ledger().filter(({ event, label }) => event === "begun" && label === "crash");
    expect(begun).toHaveLength(1);
  });
});

async function firstChunk({ body }: Response): Promise<string> {
  const read = await body?.getReader().read();
  return Buffer.from(read?.value ?? []).toString();
}

describe("sessions of a replica that stops", () => {
  test("move to the others, and no request fails", async () => {
    const cluster = await clusterOf(3);
    const hosts = await Promise.all(Array.from({ length: 9 }, () => openAt(cluster.url)));
    const [leaving] = cluster.replicas;
    let isDone = false;
    const calls = hosts.map(async (host, at) => {
      let made = 0;
      while (!isDone || made < 5) {
        expect(await echo(host, `${at}-${made}`)).toContain(`${at}-${made}`);
        made += 1;
      }
      return made;
    });
    cluster.inFront = cluster.replicas.slice(1);
    await leaving?.gateway.stop();
    isDone = true;
    expect((await Promise.all(calls)).every((made) => made >= 5)).toBe(true);
    for (const { session } of hosts) expect(owner(cluster, session)).not.toBe(leaving?.id);
  });
});

describe("a replica that stalled", () => {
  /** What happens meanwhile: its registration runs out, and the other one takes the session over. */
  async function takenOver() {
    const cluster = await clusterOf(2);
    const [first, second] = cluster.replicas as [Running, Running];
    const host = await openAt(first.url);
    const key = `session:{${host.session}}`;
    const [, record] = JSON.parse(cluster.store.get(key) ?? "[]") as string[];
    cluster.store.set(
      key,
      JSON.stringify([storedValues.seal("owner", host.session ?? "", second.id), record]),
      60_000,
    );
    first.stall(11_000);
    return { first, host };
  }

  test("serves no session that another one has taken over since, not even its first request", async () => {
    const { first, host } = await takenOver();
    expect((await listTools(first.url, host.session)).status).toBe(200);
    const sessions = async (replica: Replica) =>
      (await (await fetch(`${replica.admin}/api/v1/sessions`)).json()) as unknown;
    await until(
      "the session to be gone there",
      async () => !JSON.stringify(await sessions(first)).includes(first.id),
    );
  });

  test("ends a call of such a session with outcome_unknown", async () => {
    const cluster = await clusterOf(2);
    const [first, second] = cluster.replicas as [Running, Running];
    const host = await openAt(first.url);
    const letGo = join(tmpdir(), `adoption-${process.pid}-taken`);
    onTestFinished(() => rm(letGo, { force: true }));
    const call = host.call("one__work", { label: "taken", steps: 1000, stepMs: 20, until: letGo });
    await until("the tool to run", () => fixture.ledger().some(({ label }) => label === "taken"));
    const key = `session:{${host.session}}`;
    const [, record] = JSON.parse(cluster.store.get(key) ?? "[]") as string[];
    cluster.store.set(
      key,
      JSON.stringify([storedValues.seal("owner", host.session ?? "", second.id), record]),
      60_000,
    );
    first.stall(11_000);
    await listTools(first.url, host.session);
    expect(JSON.stringify((await call).message)).toContain('"outcome_unknown"');
    writeFileSync(letGo, "");
  });

  test("serves no session until the store has confirmed the owner", async () => {
    const { first, host } = await takenOver();
    first.store.connect(false);
    expect((await listTools(first.url, host.session)).status).toBe(503);
    first.store.connect(true);
    expect((await listTools(first.url, host.session)).status).toBe(200);
  });

  test("keeps its sessions if the store has lost their records", async () => {
    const cluster = await clusterOf(2);
    const [first] = cluster.replicas as [Running, Running];
    const host = await openAt(first.url);
    first.stall(11_000);
    cluster.store.flush();
    expect((await listTools(first.url, host.session)).status).toBe(200);
    expect(owner(cluster, host.session)).toBe(first.id);
  });
});

describe("a replica without a connection to the store", () => {
  test("continues to serve its sessions, and none of them is taken over", async () => {
    const cluster = await clusterOf(2);
    const [first, second] = cluster.replicas as [Running, Running];
    const host = await openAt(first.url);
    first.store.connect(false);
    const ready = await fetch(`${first.admin}/readyz`);
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({ reasons: ["the cluster's store cannot be reached"] });
    cluster.store.delete(`replica ${first.id}`);
    expect(await second.finds("another, which makes it read the registrations")).toBe(false);
    expect(await (await fetch(`${second.admin}/metrics`)).text()).toContain("cardea_cluster_replicas 1\n");
    for (const { url } of [first, second]) expect((await listTools(url, host.session)).status).toBe(200);
    expect(owner(cluster, host.session)).toBe(first.id);
    await crash(cluster, 0);
    expect((await listTools(second.url, host.session)).status).toBe(200);
    expect(owner(cluster, host.session)).toBe(second.id);
  });
});
