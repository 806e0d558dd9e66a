/** What an operator sees of questions that are open, and what the limits of parked calls come to. */
import "../features/admin/needed.js";
import { expect, test } from "vitest";
import type { Json } from "../support/peers/host.js";
import { countOf } from "../support/scripted/ledger.js";
import { UPSTREAMS, type UpstreamKind } from "../support/scripted/upstreams.js";
import { until } from "../support/until.js";
import { type Calling, HOSTS, type HostKind, NEVER, openHost, type ScenarioHost } from "./host.js";
import { openStage, type Stage, type StageSettings } from "./stage.js";

const kinds: readonly HostKind[] = Object.values(HOSTS);
const ACCEPT = { action: "accept", content: { it: "s3cret" } };
const LEGACY = UPSTREAMS.find(({ key }) => key === "legacy-http") as UpstreamKind;

async function onStage<T>(
  upstreams: readonly UpstreamKind[],
  settings: StageSettings,
  play: (stage: Stage) => Promise<T>,
): Promise<T> {
  const stage = await openStage(upstreams, settings);
  try {
    return await play(stage);
  } finally {
    await stage.close();
  }
}

interface Row {
  readonly server: string;
  readonly kind: string;
  readonly principal: string;
  readonly since: string;
}
const questions = async (stage: Stage): Promise<readonly Row[]> =>
  (await stage.status("questions")) as readonly Row[];

test.each(UPSTREAMS.map((upstream) => [upstream.name, upstream] as const))(
  "/api/v1/questions shows each open question of %s with principal, kind and time, without its content",
  async (_name, upstream) => {
    await onStage([upstream], {}, async (stage) => {
      const before = Date.now();
      const answers: (() => void)[] = [];
      const calls: Calling[] = [];
      for (const kind of kinds) {
        const host = await openHost(stage, kind);
        const answer = new Promise<Json>((resolve) => void answers.push(() => resolve(ACCEPT)));
        const call = host.call("form", { label: kind.key }, () => answer);
        await call.whenAsked();
        calls.push(call);
      }
      const rows = await questions(stage);
      expect(rows.map(({ since: _, ...row }) => row)).toEqual(
        kinds.map(({ door }) => ({
          server: upstream.key,
          kind: "elicitation",
          principal: door === "stdio" ? "anonymous" : "ada",
        })),
      );
      for (const { since } of rows) expect(Date.parse(since)).toBeGreaterThanOrEqual(before);
      expect(JSON.stringify(rows)).not.toMatch(/door|name|s3cret|form/);
      expect(await stage.status("status")).toMatchObject({ openQuestions: kinds.length });
      // Only a legacy server leaves its call waiting here.
      expect(await stage.metric("cardea_parked_calls")).toBe(upstream.era === "legacy" ? kinds.length : 0);

      for (const give of answers) give();
      await Promise.all(calls.map(({ outcome }) => outcome));
      expect(await questions(stage)).toEqual([]);
      expect(await stage.metric("cardea_parked_calls")).toBe(0);
      expect(await stage.metric("cardea_input_wait_seconds_count")).toBe(kinds.length);
    });
  },
);

const parked = (parkedCalls: object): StageSettings => ({ config: { parkedCalls } });
const ask = (host: ScenarioHost, label: string): Calling => host.call("form", { label }, NEVER);

test("with parkedCalls 0 a question to a host without a session fails, and sessions still get questions", async () => {
  await onStage([LEGACY], parked({ total: 0 }), async (stage) => {
    for (const kind of kinds) {
      const host = await openHost(stage, kind);
      const call = host.call("form", { label: kind.key }, () => ACCEPT);
      const response = await call.outcome;
      if (kind.era === "legacy") {
        expect(response).toMatchObject({
          result: { content: [{ text: JSON.stringify({ one: { result: ACCEPT } }) }] },
        });
      } else {
        const data = { requiredCapabilities: { elicitation: {} }, cardea: { code: "denied" } };
        expect(response).toMatchObject({ error: { code: -32021, data } });
        await until("the server to hear of it", () => isCancelled(stage, kind.key));
      }
    }
  });
});

const isCancelled = (stage: Stage, label: string): boolean =>
  countOf(stage.upstream(LEGACY).ledger(), "cancelled", label) === 1;

test.each([
  ["in all", { total: 1 }, "eve"],
  ["at one server", { perServer: 1 }, "eve"],
] as const)(
  "a call over the parkedCalls limit %s is not parked: its server gets an error and continues",
  async (_what, limits, second) => {
    await onStage([LEGACY], parked(limits), async (stage) => {
      const first = ask(await openHost(stage, HOSTS.modernHttp), "first");
      await first.whenAsked();
      const next = ask(await openHost(stage, HOSTS.modernHttp, { person: second }), "second");
      const cancelled = JSON.stringify({ one: { result: { action: "cancel" } } });
      expect(await next.outcome).toMatchObject({ result: { content: [{ text: cancelled }] } });
      expect(first.asked).toHaveLength(1);
      expect(next.asked).toHaveLength(0);
    });
  },
);

test("a call over the parkedCalls limit of one principal replaces its oldest parked call, whose server gets an error", async () => {
  await onStage([LEGACY], parked({ perPrincipal: 1 }), async (stage) => {
    const first = ask(await openHost(stage, HOSTS.modernHttp), "first");
    await first.whenAsked();
    const next = ask(await openHost(stage, HOSTS.modernHttp), "second");
    await next.whenAsked();
    await until("the server to hear of it", () => isCancelled(stage, "first"));
    expect(isCancelled(stage, "second")).toBe(false);
  });
});
