/** Records of sessions: who may take a session over, how often, and what becomes of it where that fails. */
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { ANONYMOUS } from "../../../src/core/client.js";
import type { GatewayError } from "../../../src/core/errors.js";
import { SILENT } from "../../../src/core/logger.js";
import type { ReplicaDirectory, SessionState } from "../../../src/core/replicas.js";
import { createLegacyEdge, type LegacyEdge } from "../../../src/downstream/legacy/edge.js";
import { AuthenticatedValues } from "../../../src/features/cluster/authenticated-values.js";
import { PeerKey } from "../../../src/features/cluster/peer-key.js";
import { StoredSessions } from "../../../src/features/cluster/session-records.js";
import { fakePort } from "../../support/fake-port.js";
import { until } from "../../support/until.js";
import { messagesInMemory } from "./peer-messages.js";
import { memoryStore } from "./replicas.js";

const ANN = { ...ANONYMOUS, id: "ann@example.com" };
const STATE: SessionState = {
  principal: ANN,
  endpoint: "",
  revision: "2025-11-25",
  capabilities: { roots: {} },
  info: { name: "host", version: "1" },
  logLevel: "error",
  subscriptions: ["one://a"],
};

const ID = "aaaaa-1";

/** Replicas over one store, which know no others but by the store. */
function replicas(...names: readonly string[]) {
  const store = memoryStore();
  const outcomes: string[] = [];
  const messagesOf = messagesInMemory();
  const values = new AuthenticatedValues(new PeerKey("the state key"), "cardea");
  const records = names.map((own) => {
    const directory = {
      own,
      others: (): ReturnType<ReplicaDirectory["others"]> => [],
      isRegistered: true,
      hasStalled: false,
    };
    const view = store.view();
    const messages = messagesOf(own);
    const sessions = new StoredSessions({
      ...{ store: view, directory, secret: "the state key", logger: SILENT, messages, values },
      onAdopted: (outcome) => outcomes.push(outcome),
    });
    onTestFinished(() => sessions.close());
    return { sessions, view, messages };
  });
  return { store, outcomes, records, values };
}

/** A replica with one session, which the second one claims because the first is gone; and a third one. */
async function orphaned() {
  const cluster = replicas("aaaaa", "bbbbb", "ccccc");
  const [first, second, third] = cluster.records;
  if (first === undefined || second === undefined || third === undefined) throw new Error("there are three");
  first.sessions.write(ID, STATE);
  await until("the record, which all know of", () => third.sessions.facts.local(ID) !== undefined);
  first.messages.isGone = true;
  await second.sessions.claim(ID, "aaaaa");
  return { ...cluster, first: first.sessions, second: second.sessions, third: third.sessions };
}

describe("a record", () => {
  test("has the host's declarations, and no name of its principal", async () => {
    const { store, second } = await orphaned();
    expect(store.get(`session:{${ID}}`)).not.toContain("ann");
    const { principal: _, ...rest } = STATE;
    expect(await second.adopt(ID, ANN, "")).toMatchObject({ ...rest, from: "aaaaa" });
  });

  test("is not returned for another principal or another endpoint", async () => {
    const { outcomes, second } = await orphaned();
    expect(await second.adopt(ID, { ...ANN, id: "bob" }, "")).toBeUndefined();
    expect(await second.adopt(ID, ANN, "one")).toBeUndefined();
    expect(outcomes).toEqual(["refused", "refused"]);
    expect(await second.adopt(ID, ANN, "")).toBeDefined();
  });

  test("of a running replica is owned by that one only", async () => {
    const { records, store } = replicas("aaaaa", "bbbbb");
    records[0]?.sessions.write(ID, STATE);
    await until("the record", () => store.get(`session:{${ID}}`) !== undefined);
    const [, second] = records;
    await expect(second?.sessions.adopt(ID, ANN, "")).rejects.toMatchObject({ code: "overloaded" });
    expect(await second?.sessions.adopt(ID, ANONYMOUS, "")).toBeUndefined();
  });

  test("is taken over by one of two concurrent replicas", async () => {
    const { records, store } = replicas("aaaaa", "bbbbb", "ccccc");
    const [first, ...others] = records.map(({ sessions }) => sessions);
    first?.write(ID, STATE);
    await until("the record", () => others.every(({ facts }) => facts.local(ID) !== undefined));
    if (records[0] !== undefined) records[0].messages.isGone = true;
    expect(store.keys()).toHaveLength(1);
    const owners = await Promise.all(others.map((each) => each.claim(ID, "aaaaa")));
    expect(new Set(owners).size).toBe(1);
    const adopted = await Promise.allSettled(others.map((each) => each.adopt(ID, ANN, "")));
    expect(adopted.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test("can be taken over again by the replica that could not open the session", async () => {
    const { second } = await orphaned();
    expect(await second.adopt(ID, ANN, "")).toBeDefined();
    expect(await second.adopt(ID, ANN, "")).toBeUndefined();
    second.release(ID);
    expect(await second.adopt(ID, ANN, "")).toBeDefined();
  });

  test("of a session that another replica took over is no longer written by the first, which must check", async () => {
    const { store, first, second } = await orphaned();
    await second.adopt(ID, ANN, "");
    first.write(ID, { ...STATE, logLevel: "debug" });
    await until("the first to doubt", () => first.mustVerify(ID));
    expect(store.get(`session:{${ID}}`)).not.toContain("debug");
    const taken: string[] = [];
    first.onTaken = (id) => taken.push(id);
    expect([await first.ownerOf(ID), taken]).toEqual(["bbbbb", [ID]]);
    first.remove(ID);
    expect(await second.ownerOf(ID)).toBe("bbbbb");
  });

  test("that could not be written is written when the store is back", async () => {
    const { records, store } = replicas("aaaaa");
    records[0]?.view.connect(false);
    records[0]?.sessions.write(ID, STATE);
    await new Promise(setImmediate);
    expect(store.get(`session:{${ID}}`)).toBeUndefined();
    records[0]?.view.connect(true);
    await until("the record", () => store.get(`session:{${ID}}`) !== undefined);
  });
});

describe("a record that a writer of the store has written", () => {
  const KEY = `session:{${ID}}`;
  const recordOf = (store: ReturnType<typeof memoryStore>) => store.get(KEY) ?? "";
  const adopted = (sessions: StoredSessions) => sessions.adopt(ID, ANN, "");

  test("again after its session has ended is not believed by any replica that runs", async () => {
    const { store, second, third } = await orphaned();
    const before = recordOf(store);
    expect(await adopted(second)).toBeDefined();
    second.remove(ID);
    await until("the end", () => store.get(KEY) === undefined && third.facts.hasEnded(ID));
    store.set(KEY, before, 60_000);
    expect([await adopted(second), await adopted(third)]).toEqual([undefined, undefined]);
  });

  test("is not believed by replicas of which none knows the session, as after the end of all", async () => {
    const { store, second } = await orphaned();
    const other = replicas("bbbbb");
    other.store.set(KEY, recordOf(store), 60_000);
    expect(await other.records[0]?.sessions.ownerOf(ID)).toBe("bbbbb");
    expect(await adopted(other.records[0]?.sessions as StoredSessions)).toBeUndefined();
    expect(await adopted(second)).toBeDefined();
  });

  test("is not rejected for good while a replica that may know its session does not answer", async () => {
    const { store } = await orphaned();
    const later = replicas("bbbbb", "ccccc");
    const [second, third] = later.records;
    if (second === undefined || third === undefined) throw new Error("there are two");
    later.store.set(KEY, recordOf(store), 60_000);
    third.messages.isCutOff = true;
    await expect(adopted(second.sessions)).rejects.toMatchObject({ code: "overloaded" });
    third.messages.isCutOff = false;
    expect(await adopted(second.sessions)).toBeUndefined();
    expect(later.outcomes).toEqual(["refused"]);
  });

  test("is believed just after its session was opened, if no replica was notified of it before its own ended", async () => {
    const { store, records } = replicas("aaaaa", "bbbbb");
    const [first, second] = records;
    if (first === undefined || second === undefined) throw new Error("there are two");
    first.messages.isCutOff = true;
    const begun = Date.now();
    await until("a later time", () => Date.now() > begun);
    first.sessions.write(ID, STATE);
    await until("the record", () => store.get(KEY) !== undefined);
    first.messages.isGone = true;
    expect(second.sessions.facts.local(ID)).toBeUndefined();
    await second.sessions.claim(ID, "aaaaa");
    expect(await adopted(second.sessions)).toBeDefined();
  });

  test("from an earlier time is not believed", async () => {
    const { store, records } = replicas("aaaaa", "bbbbb");
    const [first, second] = records.map(({ sessions }) => sessions) as [StoredSessions, StoredSessions];
    first.write(ID, STATE);
    await until("the first", () => second.facts.local(ID)?.version === 1);
    const [, earlier] = JSON.parse(recordOf(store)) as [string, string];
    first.write(ID, { ...STATE, subscriptions: [] });
    await until("the second", () => second.facts.local(ID)?.version === 2);
    if (records[0] !== undefined) records[0].messages.isGone = true;
    await second.claim(ID, "aaaaa");
    const [owner, last] = JSON.parse(recordOf(store)) as [string, string];
    store.set(KEY, JSON.stringify([owner, earlier]), 60_000);
    expect(await adopted(second)).toBeUndefined();
    store.set(KEY, JSON.stringify([owner, last]), 60_000);
    expect(await adopted(second)).toMatchObject({ subscriptions: [] });
  });

  test("with an owner of before does not take the session from the replica that serves it", async () => {
    const { store, second, third } = await orphaned();
    await third.claim(ID, "bbbbb");
    const ofThird = recordOf(store);
    await second.claim(ID, "ccccc");
    expect(await adopted(second)).toBeDefined();
    store.set(KEY, ofThird, 60_000);
    expect(await third.ownerOf(ID)).toBe("ccccc");
    expect(await third.holder(ID)).toBe("bbbbb");
    expect(await adopted(third)).toBeUndefined();
  });

  test.each([
    ["an invented owner", (_owner: string, record: string) => ["zzzzz", record]],
    ["an owner without a MAC", (_owner: string, record: string) => ["bbbbb", record]],
    ["an invented record", (owner: string) => [owner, JSON.stringify({ schema: 2, version: 9, ...STATE })]],
    ["the record of another session", (owner: string, _record: string, other: string) => [owner, other]],
    ["its owner as its record", (owner: string) => [owner, owner]],
    ["an earlier format", (_owner: string) => ["bbbbb", JSON.stringify({ schema: 1, ...STATE })]],
  ])("with %s is none", async (_, change) => {
    const { store, second, first } = await orphaned();
    first.write("aaaaa-2", STATE);
    await until("the other", () => store.get("session:{aaaaa-2}") !== undefined);
    const [, other = ""] = JSON.parse(store.get("session:{aaaaa-2}") ?? "[]") as string[];
    const [owner = "", record = ""] = JSON.parse(recordOf(store)) as string[];
    store.set(KEY, JSON.stringify(change(owner, record, other)), 60_000);
    expect(await adopted(second)).toBeUndefined();
    store.set(KEY, JSON.stringify([owner, record]), 60_000);
    expect(await adopted(second)).toBeDefined();
  });
});

/** An exchange whose response goes nowhere; what a session gets there is its status. */
async function notify(edge: LegacyEdge, id: string, principal = ANONYMOUS): Promise<number> {
  const request = new IncomingMessage(new Socket());
  request.headers["mcp-session-id"] = id;
  const response = new ServerResponse(request);
  const message = { jsonrpc: "2.0", method: "notifications/initialized" } as const;
  const exchange = { request, response, principal, endpoint: "", challenge: () => "" };
  await edge.post({ ...exchange, message });
  return response.statusCode;
}

describe("a session that could not be opened", () => {
  test("is opened at the next request", async () => {
    const { second, outcomes } = await orphaned();
    const gateway = fakePort();
    let tries = 0;
    const describe: typeof gateway.describe = (client) => {
      tries += 1;
      return tries === 1 ? Promise.reject(new Error("no room")) : gateway.describe(client);
    };
    const edge = createLegacyEdge({
      ...{ gateway: { ...gateway, describe }, records: second, issuer: "bbbbb" },
      ...{ sessions: { max: 10, idleMs: 60_000 }, keepAliveMs: 15_000 },
    });
    onTestFinished(() => edge.close());
    await expect(notify(edge, ID, ANN)).rejects.toThrow("no room");
    expect(await notify(edge, ID, ANN)).toBe(202);
    expect(outcomes).toEqual(["adopted", "adopted"]);
  });
});

test("a session that the stop of its replica ended is 503 there, as it is not over", async () => {
  const { records } = replicas("aaaaa");
  const sessions = (records[0] as (typeof records)[0]).sessions;
  const limits = { sessions: { max: 10, idleMs: 60_000 }, keepAliveMs: 15_000 };
  const edge = createLegacyEdge({ gateway: fakePort(), records: sessions, issuer: "aaaaa", ...limits });
  onTestFinished(() => edge.close());
  expect(await notify(edge, ID)).toBe(404);
  await edge.close();
  await expect(notify(edge, ID)).rejects.toMatchObject({
    code: "overloaded",
    options: { retryAfterMs: 1_000 },
  });
});

describe("1,000 sessions of a dead replica", () => {
  test("are opened 64 at a time and once each, at whichever replicas", async () => {
    const { records, outcomes, store } = replicas("aaaaa", "bbbbb", "ccccc");
    const ids = Array.from({ length: 1000 }, (_, at) => `aaaaa-${at}`);
    const state = { ...STATE, principal: ANONYMOUS, subscriptions: [] };
    for (const id of ids) records[0]?.sessions.write(id, state);
    await until("the records", () => store.keys().length === 1000);
    await until("all to know of them", () =>
      records.every(({ sessions }) => ids.every((id) => sessions.facts.local(id) !== undefined)),
    );
    if (records[0] !== undefined) records[0].messages.isGone = true;
    // Each is claimed by one of them, wherever its first request comes.
    for (const [at, id] of ids.entries()) {
      const claims = [1, 2].map((replica) => records[((at + replica) % 2) + 1]?.sessions.claim(id, "aaaaa"));
      expect(new Set(await Promise.all(claims)).size).toBe(1);
    }
    let most = 0;
    const edges = ["bbbbb", "ccccc"].map((issuer, at) => {
      const sessions = (records[at + 1] as (typeof records)[0]).sessions;
      let running = 0;
      const adopt = sessions.adopt.bind(sessions);
      sessions.adopt = (...args) => {
        running += 1;
        most = Math.max(most, running);
        return adopt(...args).finally(() => {
          running -= 1;
        });
      };
      const limits = { sessions: { max: 2000, idleMs: 60_000 }, keepAliveMs: 15_000 };
      const edge = createLegacyEdge({ gateway: fakePort(), records: sessions, issuer, ...limits });
      onTestFinished(() => edge.close());
      return edge;
    });
    const ask = (edge: LegacyEdge, id: string) => notify(edge, id).catch(({ code }: GatewayError) => code);
    const asked = edges.map((edge) => Promise.all([...ids, ...ids].map((id) => ask(edge, id))));
    const statuses = await Promise.all(asked);
    expect(outcomes).toEqual(ids.map(() => "adopted"));
    expect(most).toBe(64);
    ids.forEach((_, at) => {
      const each = statuses.map((of) => [of[at], of[at + 1000]]);
      expect(each.sort()).toEqual([
        [202, 202],
        ["overloaded", "overloaded"],
      ]);
    });
    const open = edges.map((edge) => edge.sessions().length);
    expect((open[0] ?? 0) + (open[1] ?? 0)).toBe(1000);
  });
});
