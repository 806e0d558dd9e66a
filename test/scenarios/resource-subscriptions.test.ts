/** Resource subscriptions: one at the server for any number of hosts, and none acknowledged without effect. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/peers/host.js";
import { eachValue } from "../support/sample.js";
import { SECRET } from "../support/scripted/tools.mjs";
import { type Scripted, UPSTREAMS, type UpstreamKind } from "../support/scripted/upstreams.js";
import { until } from "../support/until.js";
import { HOSTS, type HostKind, openHost, type ScenarioHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const UPDATED = "notifications/resources/updated";
const kinds = Object.values(HOSTS);
const named = <T extends { readonly name: string }>(all: readonly T[]) =>
  all.map((one) => [one.name, one] as const);

/** A host that receives resource updates until it stops. */
interface Follower {
  readonly host: ScenarioHost;
  /** The updated URIs, in order. */
  readonly told: () => readonly unknown[];
  /** What the gateway says it will tell. */
  readonly promised: readonly unknown[];
  readonly stop: () => Promise<void>;
}

async function follow(host: ScenarioHost, uris: readonly string[]): Promise<Follower> {
  return host.kind.era === "legacy" ? followLegacy(host, uris) : followModern(host, uris);
}

async function followLegacy(host: ScenarioHost, uris: readonly string[]): Promise<Follower> {
  const promised: string[] = [];
  const before = host.heard.length;
  for (const uri of uris) {
    const answer = await host.raw.send(`follow ${uri}`, "resources/subscribe", { uri });
    if (answer.result !== undefined) promised.push(uri);
  }
  return {
    host,
    promised,
    told: () =>
      host.heard
        .slice(before)
        .filter(({ method }) => method === UPDATED)
        .map(uriOf),
    stop: async () => {
      for (const uri of promised) await host.raw.send(`leave ${uri}`, "resources/unsubscribe", { uri });
    },
  };
}

async function followModern(host: ScenarioHost, uris: readonly string[]): Promise<Follower> {
  const told: unknown[] = [];
  const letGo = new AbortController();
  const id = `listen ${uris.join(" ")}`;
  const acknowledged = new Promise<Json>((resolve, reject) => {
    const hear = (message: Json): void => {
      if (message.method === "notifications/subscriptions/acknowledged") resolve(message.params as Json);
      else if (message.method === UPDATED) told.push(uriOf(message));
    };
    const params = { notifications: { resourceSubscriptions: uris } };
    host.raw
      .send(id, "subscriptions/listen", params, { onMessage: hear, signal: letGo.signal })
      .catch(reject);
  });
  const { resourceSubscriptions = [] } = (await acknowledged).notifications as {
    resourceSubscriptions?: readonly string[];
  };
  return {
    host,
    promised: resourceSubscriptions,
    told: () => told,
    stop: async () => {
      await host.raw.cancel(id, letGo);
      letGo.abort();
    },
  };
}

const uriOf = ({ params }: Json): unknown => (params as Json).uri;

/** Subscriptions to `uri` that the server has at this moment. */
function openAt(server: Scripted, { era }: UpstreamKind, uri: string): number {
  const ledger = server.ledger();
  const count = (event: string): number =>
    ledger.filter(
      (entry) =>
        entry.event === event &&
        (era === "legacy" ? entry.uri === uri : JSON.stringify(entry.filter).includes(`"${uri}"`)),
    ).length;
  return era === "legacy" ? count("subscribe") - count("unsubscribe") : count("listen") - count("listened");
}

const touch = async (host: ScenarioHost, { key }: UpstreamKind, uri: string): Promise<void> => {
  await host.call(`${key}__touch`, { uri }).outcome;
};

const TESTS = ["share", "own", "acknowledged"] as const;
/** Every test with every kind of host, and with every kind of server. */
const DRAWN = eachValue(
  "subscriptions",
  kinds.flatMap((kind) => UPSTREAMS.flatMap((upstream) => TESTS.map((what) => ({ kind, upstream, what })))),
  ({ kind, upstream, what }) => [`${kind.key} ${what}`, `${upstream.key} ${what}`],
);

describe.each(named(kinds))("%s", (_name, kind) => {
  let stage: Stage;
  let one: ScenarioHost;
  let other: ScenarioHost;
  beforeAll(async () => {
    stage = await openStage(UPSTREAMS);
    // Hosts that can be asked nothing share one connection to each server.
    [one, other] = await Promise.all([
      openHost(stage, kind, { capabilities: {} }),
      openHost(stage, kind, { capabilities: {} }),
    ]);
  });
  afterAll(() => stage.close());

  describe.each(named(UPSTREAMS))("and another host, with %s,", (_upstream, upstream) => {
    const isDrawn = (what: (typeof TESTS)[number]): boolean =>
      DRAWN.some((one) => one.kind === kind && one.upstream === upstream && one.what === what);
    const exposed = (uri: string): string => `${upstream.key}+${uri}`;
    // A stream that is still open would notify the next test's followers as well.
    const noneOpen = (kind: UpstreamKind): Promise<unknown> =>
      until("no subscription any more", () => openAt(stage.upstream(kind), kind, "memo://one") === 0);

    test.runIf(isDrawn("share"))(
      "share one subscription to a resource, which ends with the last host",
      async () => {
        const server = stage.upstream(upstream);
        const followers = [
          await follow(one, [exposed("memo://one")]),
          await follow(other, [exposed("memo://one")]),
        ] as const;
        expect(followers.map(({ promised }) => promised)).toEqual([
          [exposed("memo://one")],
          [exposed("memo://one")],
        ]);
        await until("one subscription", () => openAt(server, upstream, "memo://one") === 1);
        await touch(one, upstream, "memo://one");
        // A reopened stream notifies of each resource again, because a change may have been missed.
        await until("both to be told", () => followers.every(({ told }) => told().length > 0));
        for (const { told } of followers) expect(new Set(told())).toEqual(new Set([exposed("memo://one")]));

        await followers[0].stop();
        await until("one subscription still", () => openAt(server, upstream, "memo://one") === 1);
        const [before, after] = followers.map(({ told }) => told().length);
        await touch(one, upstream, "memo://one");
        await until("the other to be told", () => followers[1].told().length > Number(after));
        expect(followers[0].told()).toHaveLength(Number(before));

        await followers[1].stop();
        await noneOpen(upstream);
      },
    );

    test.runIf(isDrawn("own"))("get updates of their own resources only, under the exposed URI", async () => {
      const before = one.heard.length;
      const follower = await follow(one, [exposed("memo://one")]);
      await touch(other, upstream, "memo://two");
      await touch(other, upstream, "memo://one/part");
      await until("news of the part", () => follower.told().length > 0);
      expect(follower.told()).toEqual([exposed("memo://one/part")]);
      await follower.stop();
      await noneOpen(upstream);
      expect(one.heard.slice(before).filter(({ method }) => method !== UPDATED)).toEqual([]);
    });

    test.runIf(isDrawn("acknowledged"))(
      "get acknowledged only the resources that a server lists",
      async () => {
        const follower = await follow(one, [exposed("memo://one"), exposed(SECRET), "nobody+memo://one"]);
        expect(follower.promised).toEqual([exposed("memo://one")]);
        await follower.stop();
        await noneOpen(upstream);
      },
    );
  });
});

const LOSING = eachValue("lost streams", UPSTREAMS, ({ era }) => [era]);

describe.each(named(LOSING))("when %s loses its event streams", (_name, upstream) => {
  test("every subscribed host gets an update for what it may have missed, and then new updates", async () => {
    const stage = await openStage([upstream]);
    const uri = `${upstream.key}+memo://one`;
    const open = (kind: HostKind) => openHost(stage, kind, { capabilities: {} });
    const hosts = await Promise.all(kinds.map(open));
    const followers = await Promise.all(hosts.map((host) => follow(host, [uri])));
    await until("the subscription", () => openAt(stage.upstream(upstream), upstream, "memo://one") === 1);
    stage.upstream(upstream).hangUp();
    await until("word of what may be missed", () => followers.every(({ told }) => told().length > 0));
    const before = followers.map(({ told }) => told().length);
    await touch(hosts[0] as ScenarioHost, upstream, "memo://one");
    await until("news", () => followers.every(({ told }, index) => told().length > (before[index] ?? 0)));
    expect(new Set(followers.flatMap(({ told }) => told()))).toEqual(new Set([uri]));
    await stage.close();
  });
});

describe("a host that connects before the servers are ready", () => {
  const onPipes = UPSTREAMS.filter(({ transport }) => transport === "stdio");
  const cells = kinds.flatMap((kind) =>
    onPipes.map((upstream) => [kind.name, upstream.name, kind, upstream] as const),
  );
  const drawn = eachValue("subscriptions before the start", cells, ([, , kind, upstream]) => [
    kind.era,
    upstream.era,
  ]);
  test.each(drawn)(
    "%s subscribes to a resource of %s, and gets its updates",
    async (_host, _upstream, kind, upstream) => {
      const folder = mkdtempSync(join(tmpdir(), "late-"));
      const startsWith = join(folder, "go");
      // With a single one a host on a pipe would wait for the result.
      const stage = await openStage(onPipes, { startsWith });
      const host = await openHost(stage, kind, { capabilities: {} });
      const uris = [`${upstream.key}+memo://one`];
      const following = follow(host, uris);
      // Another answer says that the gateway has taken up what came before it.
      await host.raw.request(kind.era === "legacy" ? "ping" : "server/discover", {});
      writeFileSync(startsWith, "");
      const follower = await following;
      expect(follower.promised).toEqual(uris);
      await touch(host, upstream, "memo://one");
      await until("news", () => follower.told().length > 0);
      expect(new Set(follower.told())).toEqual(new Set(uris));
      await stage.close();
      rmSync(folder, { recursive: true });
    },
  );
});
