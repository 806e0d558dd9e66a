/** Many hosts that are asked at the same moment, with equal ids and equal arguments: each gets its own answer. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/peers/host.js";
import { sample, TAKES_ALL } from "../support/sample.js";
import { countOf } from "../support/scripted/ledger.js";
import { UPSTREAMS, type UpstreamKind } from "../support/scripted/upstreams.js";
import { HOSTS, type HostKind, openHost, type ScenarioHost } from "./host.js";
import { openStage, type Stage } from "./stage.js";

const kindsOf = (era: HostKind["era"]): readonly HostKind[] =>
  Object.values(HOSTS).filter((kind) => kind.era === era);

/** At servers of whatever kind; fewer in a run that draws samples. */
const MANY = TAKES_ALL ? 50 : 20;

/** A session that can be asked has a process of its own at a server on a pipe, so there they are fewer. */
const crowdOf = (era: HostKind["era"], { era: upstream, transport }: UpstreamKind): number =>
  era === "legacy" && upstream === "legacy" && transport === "stdio" ? 10 : MANY;

const cells = sample(
  "crowd",
  (["legacy", "modern"] as const).flatMap((era) =>
    UPSTREAMS.map((upstream) => [crowdOf(era, upstream), era, upstream.name, upstream] as const),
  ),
  4,
);

describe.each(cells)("%d %s hosts with %s", (count, era, _name, upstream) => {
  let stage: Stage;
  const hosts: ScenarioHost[] = [];
  beforeAll(async () => {
    stage = await openStage([upstream]);
    const kinds = kindsOf(era);
    for (let index = 0; index < count; index += 1) {
      hosts.push(await openHost(stage, kinds[index % kinds.length] as HostKind));
    }
  });
  afterAll(() => stage.close());

  test("get concurrent questions, and every answer reaches its own call", async () => {
    let asked = 0;
    let everybodyIsAsked = (): void => {};
    const all = new Promise<void>((resolve) => {
      everybodyIsAsked = resolve;
    });
    // At a server on a pipe, calls of one principal run one after another: they cannot all wait for each other.
    const takesTurns = era === "modern" && upstream.era === "legacy";
    const calls = hosts.map((host, index) =>
      host.call(`${upstream.key}__form`, { label: "same" }, async () => {
        asked += 1;
        if (asked === count) everybodyIsAsked();
        if (!takesTurns) await all;
        return { action: "accept", content: { name: `host ${index}` } };
      }),
    );
    const outcomes = await Promise.all(calls.map(({ outcome }) => outcome));
    expect(outcomes.map(textOf)).toEqual(
      hosts.map((_, index) =>
        JSON.stringify({ one: { result: { action: "accept", content: { name: `host ${index}` } } } }),
      ),
    );
    expect(outcomes.map(({ id }) => id)).toEqual(hosts.map(() => (era === "modern" ? 2 : 1)));
    expect(calls.map((call) => call.asked.length)).toEqual(hosts.map(() => 1));
    const ledger = stage.upstream(upstream).ledger();
    expect([countOf(ledger, "begun"), countOf(ledger, "done")]).toEqual([count, count]);
  });
});

const textOf = ({ result }: Json): unknown =>
  (result as { readonly content?: readonly { readonly text?: string }[] } | undefined)?.content?.[0]?.text;
