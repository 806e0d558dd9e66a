/** After a restart hosts see the lists of the last run at once, and are notified of what really differs. */
import { createHash } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import type { Catalog } from "../../../src/catalog/catalog.js";
import type { Client } from "../../../src/core/client.js";
import type { ListStore, PersistedLists } from "../../../src/core/persisted-lists.js";
import { Stop } from "../../../src/core/stop.js";
import { type ListScope, SHARED_SCOPE } from "../../../src/core/upstream.js";
import { decodeListFile } from "../../../src/features/kept-lists/list-file.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { parseJson } from "../../../src/wire/json-text.js";
import { type CatalogUnderTest, catalogOf, itemsOf, names, server, tool } from "../../catalog/support.js";
import { fakeTime, pass, settle } from "../../support/fake-time.js";
import {
  type FakeUpstream,
  type FakeUpstreamOptions,
  fakeClient,
  fakeUpstream,
} from "../../support/fake-upstream.js";
import fc from "../../support/fast-check.js";
import { numberText } from "../../support/number-texts.js";
import { encodedAtOnce } from "./support/list-file.js";

fakeTime();

/** What is kept of one server, as a file would keep it. */
class Store implements ListStore {
  #lists: (() => PersistedLists) | undefined;
  readonly #before: PersistedLists | undefined;
  changes = 0;

  constructor(before?: PersistedLists) {
    this.#before = before;
  }

  get known(): PersistedLists | undefined {
    return this.#lists?.() ?? this.#before;
  }

  followLists(lists: () => PersistedLists): void {
    this.#lists = lists;
  }

  changed(): void {
    this.changes += 1;
  }

  /** The store of the next run. */
  next(): Store {
    const known = this.known ?? { scopes: new Map(), startFailed: false };
    const seal = () => createHash("sha256");
    const read = decodeListFile(Buffer.from(encodedAtOnce(known, seal)?.text ?? ""), seal);
    if (!read.ok) throw new Error(read.reason);
    return new Store(read.server);
  }
}

interface Run {
  readonly upstream: FakeUpstream;
  readonly catalog: Catalog;
  readonly store: Store;
}

/** A run of the gateway with one server that is still starting. */
function run(options: FakeUpstreamOptions, store = new Store(), over: CatalogUnderTest = {}): Run {
  const upstream = fakeUpstream("files", { state: "starting", ...options });
  const catalog = catalogOf([upstream], { kept: () => store, ...over });
  return { upstream, catalog, store };
}

/** The same, with the server ready and its lists loaded. */
async function ranWith(
  options: FakeUpstreamOptions,
  store = new Store(),
  over: CatalogUnderTest = {},
): Promise<Run> {
  const one = run(options, store, over);
  one.upstream.becomeReady();
  await settle();
  return one;
}

/** How long (ms) a list waits. */
function listing(catalog: Catalog, client: Client = fakeClient()): { waited: number } {
  const began = performance.now();
  const seen = { waited: Number.NaN };
  void catalog.prepareLists(client, new Stop().signal).then(() => {
    seen.waited = performance.now() - began;
  });
  return seen;
}

/** The lists of which a host is notified. */
function changesOf(catalog: Catalog, client = fakeClient()): readonly string[] {
  const changed: string[] = [];
  const lists = new Set(["tools", "prompts", "resources", "resourceTemplates"] as const);
  catalog.changes.subscribe(client, { lists, resources: new Set() }, (change) => {
    if (change.kind === "list") changed.push(change.list);
  });
  return changed;
}

const ADD = { lists: { tools: [tool("add")], prompts: [{ name: "greet" }] } };
const ALL = ["tools", "prompts", "resources", "resourceTemplates"];

describe("the cached lists of the last run", () => {
  test("start a server on demand whose list failed to load, when a host lists", async () => {
    const options = { ...ADD, startsOnDemand: true };
    const first = run(options);
    first.upstream.failing(undefined, "tools").becomeReady();
    await settle();
    const { catalog, upstream } = run({ ...options, state: "idle" }, first.store.next());
    upstream.whenSought = () => upstream.becomeReady();
    listing(catalog);
    await settle();
    expect(upstream.sought).toBe(1);
    expect(names(catalog)).toEqual(["files__add"]);
    upstream.rest();
    await pass(120_000);
    listing(catalog);
    await settle();
    expect(upstream.sought).toBe(1);
  });

  test("are available before the server is connected, and no list waits for it", async () => {
    const { store } = await ranWith(ADD);
    const { catalog, upstream } = run(ADD, store.next());
    const list = listing(catalog);
    await settle();
    expect(list.waited).toBe(0);
    expect([names(catalog), names(catalog, "prompts")]).toEqual([["files__add"], ["files__greet"]]);
    expect([catalog.starting(), upstream.listed]).toEqual([[], []]);
  });

  test("are all loaded again when the server is connected", async () => {
    const { store } = await ranWith(ADD);
    const { upstream } = await ranWith(ADD, store.next());
    expect(upstream.listed.toSorted()).toEqual(ALL.map((kind) => `${kind}@shared`).toSorted());
  });

  test("cause no notification if they are unchanged", async () => {
    const { store } = await ranWith(ADD);
    const { catalog, upstream, store: second } = run(ADD, store.next());
    const changed = changesOf(catalog);
    upstream.becomeReady();
    await pass(1_000);
    expect([changed, second.changes]).toEqual([[], 0]);
    expect(catalog.status()[0]?.stale).toBe(false);
  });

  test("notify hosts of each changed list, once", async () => {
    const { store } = await ranWith(ADD);
    const onListChanged = vi.fn();
    const next = { lists: { ...ADD.lists, tools: [tool("add"), tool("sub")] } };
    const { catalog, upstream, store: second } = run(next, store.next(), { onListChanged });
    const changed = changesOf(catalog);
    upstream.becomeReady();
    await pass(1_000);
    expect(changed).toEqual(["tools"]);
    expect(onListChanged.mock.calls).toEqual([["files", "tools"]]);
    expect(names(catalog)).toEqual(["files__add", "files__sub"]);
    expect(second.changes).toBeGreaterThan(0);
    expect(names(run({}, second.next()).catalog)).toEqual(["files__add", "files__sub"]);
  });

  test("are equal to those of the server whatever numbers are in them", async () => {
    const texts = fc.array(numberText(), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(texts, async (numbers) => {
        const items = () => [
          parseJson(
            `{"name":"add","inputSchema":{"type":"object","enum":[${numbers.join(",")}]}}`,
          ) as JsonObject,
        ];
        const listed = (one: FakeUpstream): void => {
          one.list = async (kind) => ({
            items: kind === "tools" ? items() : [],
            freshness: { ttlMs: 0, scope: "private" },
          });
        };
        const first = run({});
        listed(first.upstream);
        first.upstream.becomeReady();
        await settle();
        const second = run({}, first.store.next());
        listed(second.upstream);
        const changed = changesOf(second.catalog);
        expect(itemsOf(second.catalog, "tools")).toEqual([{ ...items()[0], name: "files__add" }]);
        second.upstream.becomeReady();
        await pass(1_000);
        expect(changed).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });

  test("pass the filters of the config as it is now", async () => {
    const lists = { tools: [tool("read"), tool("write")] };
    const only = (...allow: string[]) => ({ servers: [server("files", { tools: { allow, deny: [] } })] });
    const { store } = await ranWith({ lists }, new Store(), only("read"));
    expect(names(run({ lists }, store.next(), only("write")).catalog)).toEqual(["files__write"]);
    expect(names(run({ lists }, store.next()).catalog)).toEqual(["files__read", "files__write"]);
  });

  test("state their age", async () => {
    const { store } = await ranWith(ADD);
    const next = store.next();
    await pass(3_600_000);
    const [status] = run(ADD, next).catalog.status();
    expect(status).toMatchObject({ ageMs: 3_600_000, stale: true, shown: true });
  });

  test("stay for a minute if the server cannot be started", async () => {
    const { store } = await ranWith(ADD);
    const { catalog, upstream } = run(ADD, store.next());
    upstream.goDown();
    await pass(59_000);
    expect(names(catalog)).toEqual(["files__add"]);
    await pass(2_000);
    expect(names(catalog)).toEqual([]);
  });

  test("are written only when every list was loaded or has failed", async () => {
    const one = run(ADD);
    one.upstream.hanging("prompts");
    one.upstream.becomeReady();
    await settle();
    expect([names(one.catalog), one.store.known?.scopes.size]).toEqual([["files__add"], 0]);
    await pass(15_000);
    expect(names(run(ADD, one.store.next()).catalog)).toEqual(["files__add"]);
  });

  test("are kept with the entries that hosts cannot read", async () => {
    const { store, upstream, catalog } = run(ADD);
    const flaw = { list: "tools" as const, name: "bad", member: "inputSchema", reason: "must be an object" };
    upstream.list = async (kind) => ({
      items: [],
      freshness: { ttlMs: 0, scope: "private" },
      ...(kind === "tools" && { malformed: [flaw] }),
    });
    upstream.becomeReady();
    await settle();
    expect(catalog.status()[0]?.malformed).toEqual([flaw]);
    expect(run(ADD, store.next()).catalog.status()[0]?.malformed).toEqual([flaw]);
  });

  test("outlive reloads of the config", async () => {
    const { store } = await ranWith(ADD);
    const second = store.next();
    const { catalog, upstream } = run(ADD, second);
    const reloaded = catalogOf([upstream], { kept: () => second, before: catalog });
    catalog.close();
    expect(names(reloaded)).toEqual(["files__add"]);
    expect(names(run(ADD, second.next()).catalog)).toEqual(["files__add"]);
    upstream.setList("tools", [tool("sub")]);
    upstream.becomeReady();
    await settle();
    expect(names(run(ADD, second.next()).catalog)).toEqual(["files__sub"]);
  });
});

describe("the lists of each kind of host", () => {
  const capabilitiesOf = ({ capabilities }: Client): string => Object.keys(capabilities).sort().join("+");
  const perSession = (client: Client): ListScope =>
    capabilitiesOf(client) === ""
      ? SHARED_SCOPE
      : { key: client.affinity, capabilityClass: capabilitiesOf(client) };
  const perClass = (client: Client): ListScope => {
    const kind = capabilitiesOf(client);
    return kind === "" ? SHARED_SCOPE : { key: kind, capabilityClass: kind };
  };
  const host = (affinity: string, ...kinds: string[]): Client =>
    fakeClient({
      affinity,
      session: true,
      capabilities: Object.fromEntries(kinds.map((kind) => [kind, {}])),
    });

  const everything = (audience: (client: Client) => ListScope) => ({ ...ADD, audience });
  const asked = [tool("add"), tool("ask")];

  async function firstRun(audience: (client: Client) => ListScope): Promise<Store> {
    const { upstream, catalog, store } = await ranWith(everything(audience));
    upstream.setList("tools", asked, "sampling");
    await catalog.prepare(host("s1", "sampling"));
    return store.next();
  }

  test.each([
    ["a connection of its own", perSession],
    ["a request of its own", perClass],
  ] as const)("with %s are available before the server is connected", async (_, audience) => {
    const { catalog, upstream } = run(everything(audience), await firstRun(audience));
    const asking = host("s2", "sampling");
    const list = listing(catalog, asking);
    await settle();
    expect([list.waited, upstream.listed]).toEqual([0, []]);
    expect(names(catalog, "tools", asking)).toEqual(["files__add", "files__ask"]);
    expect(names(catalog, "tools", host("s3"))).toEqual(["files__add"]);
  });

  test("need no request if their kind is cached, also when the server is connected", async () => {
    const { catalog, upstream } = await ranWith(everything(perSession), await firstRun(perSession));
    upstream.listed.length = 0;
    const list = listing(catalog, host("s2", "sampling"));
    await settle();
    expect([list.waited, upstream.listed]).toEqual([0, []]);
  });

  test("over one connection are reloaded after the first list of its kind", async () => {
    const { catalog, upstream } = await ranWith(everything(perClass), await firstRun(perClass));
    upstream.setList("tools", [tool("ask")], "sampling");
    const asking = host("s2", "sampling");
    const changed = changesOf(catalog, asking);
    const list = listing(catalog, asking);
    await settle();
    expect([list.waited, names(catalog, "tools", asking)]).toEqual([0, ["files__add", "files__ask"]]);
    await pass(1_000);
    expect([changed, names(catalog, "tools", asking)]).toEqual([["tools"], ["files__ask"]]);
  });

  test("are reloaded if another host of their kind has seen a change", async () => {
    const { catalog, store, upstream } = await ranWith(everything(perSession), await firstRun(perSession));
    const [old, later] = [host("s2", "sampling"), host("s3", "sampling")];
    await catalog.prepare(old);
    upstream.setList("tools", [tool("ask")], "sampling");
    await pass(60_000);
    upstream.becomeReady(perSession(old));
    await pass(60_000);
    upstream.setList("tools", [tool("other")], "sampling");
    upstream.listChanged("tools", perSession(old));
    await pass(1_000);
    const next = await ranWith(everything(perSession), store.next());
    next.upstream.listed.length = 0;
    await next.catalog.prepare(later);
    expect(next.upstream.listed).toContain("tools@s3");
  });
});

describe("a server that was unavailable in the last run", () => {
  const WAIT_MS = 10_000;

  async function afterRun(end: (upstream: FakeUpstream) => unknown): Promise<Run> {
    const { upstream, store } = run({});
    await end(upstream);
    return run(ADD, store.next());
  }

  test.each([
    ["failed", (upstream: FakeUpstream) => upstream.goDown()],
    ["hung", () => pass(WAIT_MS)],
    [
      "could not list",
      async (upstream: FakeUpstream) => {
        upstream.failing().becomeReady();
        await settle();
      },
    ],
  ] as const)("because it %s is not waited for", async (_, end) => {
    const { catalog, upstream } = await afterRun(end);
    const list = listing(catalog);
    await settle();
    expect([list.waited, names(catalog), catalog.starting()]).toEqual([0, [], []]);
    const changed = changesOf(catalog);
    upstream.becomeReady();
    await pass(1_000);
    expect([changed, names(catalog)]).toEqual([["tools", "prompts"], ["files__add"]]);
  });

  test("because the gateway ended before is waited for", async () => {
    const { catalog } = await afterRun(() => pass(WAIT_MS - 1));
    const list = listing(catalog);
    await pass(WAIT_MS - 1);
    expect(list.waited).toBeNaN();
    await pass(1);
    expect(list.waited).toBe(WAIT_MS);
  });

  test("and is available in this run is cached for the next", async () => {
    const { upstream, store } = await afterRun((one) => one.goDown());
    upstream.becomeReady();
    await settle();
    expect(store.known?.startFailed).toBe(false);
    expect(names(run(ADD, store.next()).catalog)).toEqual(["files__add"]);
  });

  test("although its lists are known from before leaves them known", async () => {
    const { store } = await ranWith(ADD);
    const second = run(ADD, store.next());
    second.upstream.goDown();
    await pass(120_000);
    const third = run(ADD, second.store.next());
    expect(names(third.catalog)).toEqual(["files__add"]);
  });
});
