/** The rows of the matrix for one kind of host: every kind of server in every situation, each a test with a name. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UPSTREAMS, type UpstreamKind } from "../../support/scripted/upstreams.js";
import { THROUGH_CALL_TOOL } from "../../support/through.js";
import { type HostKind, openHost, type ScenarioHost } from "../host.js";
import { openStage, type Stage } from "../stage.js";
import { cellOf } from "./cell.js";
import { isAbsent, SITUATIONS, type Situation } from "./situations.js";

/** So little time has a person here, that a test can wait for its end. */
const IMPATIENT = { answerTimeout: "450ms" };

interface Set {
  readonly stage: Stage;
  readonly guest: ScenarioHost;
}

async function build(host: HostKind, upstreams: readonly UpstreamKind[], settings = {}): Promise<Set> {
  const stage = await openStage(upstreams, settings);
  return { stage, guest: await openHost(stage, host) };
}

export function matrixOf(host: HostKind): void {
  let patient: Set;
  let impatient: Set;
  beforeAll(async () => {
    patient = await build(host, UPSTREAMS);
    impatient = await build(host, UPSTREAMS, IMPATIENT);
  });
  afterAll(async () => {
    const throughCallTool = await patient.stage.metric("cardea_search_calls_total");
    expect(throughCallTool > 0).toBe(THROUGH_CALL_TOOL);
    await Promise.all([patient.stage.close(), impatient.stage.close()]);
  });

  const play = async (upstream: UpstreamKind, situation: Situation): Promise<void> => {
    const wanted = (situation.stageFor ?? host.era) === host.era ? situation.stage : undefined;
    const own = wanted === "own" ? await build(host, [upstream]) : undefined;
    const set = own ?? (wanted === "impatient" ? impatient : patient);
    try {
      await situation.run(cellOf(set.stage, host, upstream, situation.key, set.guest));
    } finally {
      await own?.stage.close();
    }
  };

  const named = <T>(all: readonly T[], name: (one: T) => string) =>
    all.map((one) => [name(one), one] as const);
  const instead = SITUATIONS.filter((situation) => isAbsent(host, situation)).flatMap((situation) => {
    const other = situation.insteadForLegacyHosts;
    return other === undefined ? [] : [{ ...situation, ...other, key: `instead of a ${situation.key}` }];
  });
  const played = [...SITUATIONS.filter((situation) => !isAbsent(host, situation)), ...instead];

  describe.each(named(UPSTREAMS, ({ name }) => name))(`${host.name}, in front of %s,`, (_name, upstream) => {
    test.each(named(played, ({ sentence, key }) => `${sentence} (${key})`))("%s", (_sentence, situation) =>
      play(upstream, situation),
    );
  });
}
