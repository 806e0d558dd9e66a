/** What goes by beside answers and questions: log lines, progress, roots that change, questions outside all calls. */
import "../features/admin/needed.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/peers/host.js";
import { eachValue, sample } from "../support/sample.js";
import { countOf } from "../support/scripted/ledger.js";
import { UPSTREAMS } from "../support/scripted/upstreams.js";
import { until } from "../support/until.js";
import { ASKABLE, HOSTS, type HostKind, openHost, type ScenarioHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const kinds: readonly HostKind[] = Object.values(HOSTS);
const LEGACY = UPSTREAMS.filter(({ era }) => era === "legacy");
const named = <T extends { readonly name: string }>(all: readonly T[]) =>
  all.map((one) => [one.name, one] as const);

/** Hosts of each era. */
const ofEachEra = (name: string): readonly HostKind[] => eachValue(name, kinds, ({ era }) => [era]);

/** A host that receives log lines from `level` on, in its era. */
async function listening(stage: Stage, kind: HostKind, level: string): Promise<ScenarioHost> {
  const host = await openHost(stage, kind, { logLevel: level });
  if (kind.era === "legacy") await host.raw.send("level", "logging/setLevel", { level });
  return host;
}

/** The parameters of the host's notifications of `method`, from `since` on. */
const heardBy = ({ heard }: ScenarioHost, method: string, since = 0): readonly Json[] =>
  heard
    .slice(since)
    .filter((message) => message.method === method)
    .map(({ params }) => params as Json);

describe.each(named(ofEachEra("lines of calls")))("%s", (_name, kind) => {
  // A line on a pipe that several hosts share names no call, so each kind has servers of its own.
  let stage: Stage;
  let host: ScenarioHost;
  beforeAll(async () => {
    stage = await openStage(UPSTREAMS);
    host = await listening(stage, kind, "info");
  });
  afterAll(() => stage.close());

  test.each(named(UPSTREAMS))(
    "gets the log messages of its call to %s, from its log level on",
    async (_of, { key }) => {
      const since = host.heard.length;
      await host.call(`${key}__work`, { label: "log", steps: 2 }).outcome;
      expect(heardBy(host, "notifications/message", since)).toEqual(
        ["info 1", "error 1", "info 2", "error 2"].map((data) => ({
          level: data.split(" ")[0],
          logger: "scripted",
          data,
        })),
      );
    },
  );

  test.each(named(UPSTREAMS))(
    "gets progress of its call to %s under its own progress token",
    async (_of, { key }) => {
      const since = host.heard.length;
      const meta = { progressToken: `token of ${key}` };
      await host.call(`${key}__work`, { label: "progress", steps: 3 }, undefined, meta).outcome;
      expect(heardBy(host, "notifications/progress", since)).toEqual(
        [1, 2, 3].map((progress) => ({ progressToken: `token of ${key}`, progress, total: 3 })),
      );
    },
  );
});

const legacyHosts = kinds.filter(({ era }) => era === "legacy");

describe.each(named(sample("connections of hosts", legacyHosts, 1)))(
  "%s with a connection of its own",
  (_name, kind) => {
    let stage: Stage;
    let host: ScenarioHost;
    beforeAll(async () => {
      stage = await openStage(UPSTREAMS);
      host = await listening(stage, kind, "error");
    });
    afterAll(() => stage.close());

    test.each(named(LEGACY))(
      "gets log messages of %s between calls, from its log level on",
      async (_of, { key }) => {
        const since = host.heard.length;
        await host.call(`${key}__talk_later`, { label: "talk" }).outcome;
        await until("the line", () => heardBy(host, "notifications/message", since).length > 0);
        expect(heardBy(host, "notifications/message", since)).toEqual([
          { level: "error", logger: "scripted", data: "later error" },
        ]);
      },
    );

    test.each(named(LEGACY))(
      "gets a roots question of %s while no call is running",
      async (_of, upstream) => {
        const roots = { roots: [{ uri: "file:///home/ada" }] };
        const calling = host.call(`${upstream.key}__ask_later`, { label: "later" }, () => roots);
        await calling.outcome;
        const told = await until("the answer", () =>
          stage
            .upstream(upstream)
            .ledger()
            .find(({ event }) => event === "told later"),
        );
        expect(told).toMatchObject({ result: roots });
        expect(calling.asked).toMatchObject([{ method: "roots/list" }]);
      },
    );

    test.each(named(LEGACY))("gets the cancel of a question of %s", async (_of, { key }) => {
      const before = host.takenBack;
      const label = `take back ${key}`;
      const calling = host.call(`${key}__take_back`, { label });
      await calling.whenAsked();
      await host.raw.send(`let go ${key}`, "tools/call", { name: `${key}__let_go`, arguments: { label } });
      expect(await calling.outcome).toMatchObject({ result: { content: [{ text: "went on without" }] } });
      expect(host.takenBack - before).toBe(1);
    });

    test.each(named(LEGACY))("refuses a question, and %s gets the host's own error", async (_of, { key }) => {
      const calling = host.call(`${key}__sampling`, { label: "refused" }, () => {
        throw new Error("no");
      });
      const refusal = JSON.stringify({ one: { error: { code: -1, message: "the user refused" } } });
      expect(await calling.outcome).toMatchObject({ result: { content: [{ text: refusal }] } });
    });

    test("sends roots/list_changed to every legacy server, and to no modern one, which has no such message", async () => {
      await host.raw.wire.post({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
      for (const upstream of LEGACY) {
        await until(upstream.name, () => countOf(stage.upstream(upstream).ledger(), "heard") === 1);
      }
      for (const upstream of UPSTREAMS) {
        const heard = stage
          .upstream(upstream)
          .ledger()
          .filter(({ event }) => event === "heard");
        const expected = upstream.era === "legacy" ? ["notifications/roots/list_changed"] : [];
        expect(heard.map(({ method }) => method)).toEqual(expected);
      }
    });
  },
);

describe("a question while no call is running, on a shared connection of hosts without sessions,", () => {
  test.each(named(sample("refused questions", LEGACY, 1)))(
    "gets an error for %s, and is counted",
    async (_name, upstream) => {
      const stage = await openStage([upstream]);
      const host = await openHost(stage, HOSTS.modernHttp);
      await host.call("ask_later", { label: "later" }).outcome;
      const told = await until("the answer", () =>
        stage
          .upstream(upstream)
          .ledger()
          .find(({ event }) => event === "told later"),
      );
      expect(told).toMatchObject({ error: { code: -32602 } });
      expect(await stage.metric("cardea_refused_questions_total")).toBe(1);
      await stage.close();
    },
  );

  const drawn = sample("roots of the config", LEGACY, 1);
  test.each(named(drawn))("is answered for %s with the roots of the config", async (_name, upstream) => {
    const stage = await openStage([upstream], { server: { roots: ["/srv/shared"] } });
    const host = await openHost(stage, HOSTS.modernHttp);
    await host.call("ask_later", { label: "later" }).outcome;
    const told = await until("the answer", () =>
      stage
        .upstream(upstream)
        .ledger()
        .find(({ event }) => event === "told later"),
    );
    expect(told).toMatchObject({ result: { roots: [{ uri: "file:///srv/shared" }] } });
    await stage.close();
  });
});

describe("a question to a session while no call is running", () => {
  const drawn = sample("questions between calls", LEGACY, 1);
  const asked = sample("hosts asked between calls", legacyHosts, 2);
  test.each(named(drawn))("is evaluated by the policy like any other: %s", async (_name, upstream) => {
    const rules = [{ name: "no-roots", on: "roots", effect: "deny" }];
    const stage = await openStage([upstream], { config: { policy: { rules } } });
    for (const [index, kind] of asked.entries()) {
      const host = await openHost(stage, kind);
      const calling = host.call("ask_later", { label: "later" }, () => ({ roots: [] }));
      await calling.outcome;
      const told = await until(
        "the answer",
        () =>
          stage
            .upstream(upstream)
            .ledger()
            .filter(({ event }) => event === "told later")[index],
      );
      expect(told).toMatchObject({ error: { code: -1 } });
      expect(calling.asked).toEqual([]);
    }
    expect(await stage.status("decisions")).toMatchObject(
      asked.map(() => ({ rule: "no-roots", effect: "deny", on: "roots", server: upstream.key })),
    );
    await stage.close();
  });

  test("is listed in /api/v1/questions while it is open", async () => {
    const upstream = LEGACY[0] as (typeof LEGACY)[number];
    const stage = await openStage([upstream]);
    const host = await openHost(stage, HOSTS.legacyHttp);
    let give = (): void => {};
    const answer = new Promise<Json>((resolve) => {
      give = () => resolve({ roots: [] });
    });
    const calling = host.call("ask_later", { label: "later" }, () => answer);
    await calling.whenAsked();
    expect(await stage.status("questions")).toMatchObject([
      { server: upstream.key, kind: "roots", principal: "ada" },
    ]);
    give();
    await until("nothing to be open", async () => {
      const open = (await stage.status("questions")) as readonly unknown[];
      return open.length === 0;
    });
    expect(await stage.metric("cardea_input_wait_seconds_count")).toBe(1);
    await stage.close();
  });
});

describe("a URL that must be visited first (-32042)", () => {
  test.each(named(sample("URLs to be visited", LEGACY, 1)))(
    "is a question for hosts with URL elicitation, and %s gets a retry after it",
    async (_name, upstream) => {
      const stage = await openStage([
        upstream,
        ...UPSTREAMS.filter(({ era }) => era === "modern").slice(0, 1),
      ]);
      for (const kind of kinds) {
        const host = await openHost(stage, kind);
        const label = `page for ${kind.key}`;
        const calling = host.call(`${upstream.key}__sign_in`, { label }, () => ({ action: "accept" }));
        expect(await calling.outcome).toMatchObject({ result: { content: [{ text: "signed in" }] } });
        expect(calling.asked).toMatchObject([
          { method: "elicitation/create", params: { mode: "url", url: "https://example.test/in?a=1" } },
        ]);
        expect(countOf(stage.upstream(upstream).ledger(), "done", label)).toBe(1);
      }
      await stage.close();
    },
  );
});

describe("a host with form elicitation only", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(UPSTREAMS);
  });
  afterAll(() => stage.close());

  test.each(named(ofEachEra("hosts with forms only")))("gets no URL question: %s", async (_name, kind) => {
    const host = await openHost(stage, kind, { capabilities: { ...ASKABLE, elicitation: { form: {} } } });
    const calling = host.call("legacy-http__sign_in", { label: `form only, ${kind.key}` });
    const response = await calling.outcome;
    expect(calling.asked).toEqual([]);
    expect(JSON.stringify(response)).toContain("Sign in first.");
  });
});

describe("a rule that redacts log messages between calls", () => {
  let stage: Stage;
  beforeAll(async () => {
    const redact = { results: { patterns: ["later"] } };
    const rules = [{ name: "no-later", effect: "redact", redact }];
    stage = await openStage(LEGACY, { config: { policy: { rules } } });
  });
  afterAll(() => stage.close());

  test.each(named(sample("redacted lines", legacyHosts, 1)))("holds for %s", async (_name, kind) => {
    const host = await listening(stage, kind, "info");
    for (const { key } of LEGACY) {
      const since = host.heard.length;
      await host.call(`${key}__talk_later`, { label: "talk" }).outcome;
      await until("the line", () => heardBy(host, "notifications/message", since).length > 0);
      expect(heardBy(host, "notifications/message", since)).toMatchObject([{ data: "[redacted] error" }]);
    }
    await host.leave();
  });
});
