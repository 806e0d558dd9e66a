/** The rows of the matrix for one kind of host: every kind of server in every situation, each a test with a name. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eachValue, pairwise } from "../../support/sample.js";
import { UPSTREAMS, type UpstreamKind } from "../../support/scripted/upstreams.js";
import { THROUGH_CALL_TOOL } from "../../support/through.js";
import { HOSTS, type HostKind, openHost, type ScenarioHost } from "../host.js";
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

  describe.each(UPSTREAMS.map((upstream) => [upstream.name, upstream] as const))(
    `${host.name}, in front of %s,`,
    (_name, upstream) => {
      const played = playedBy(host).filter((situation) => isDrawn({ host, upstream, situation }));
      test.each(played.map((each) => [`${each.sentence} (${each.key})`, each] as const))(
        "%s",
        (_sentence, situation) => play(upstream, situation),
      );
    },
  );
}

/** The situations that can exist for a host, and what is tested instead of those that cannot. */
function playedBy(host: HostKind): readonly Situation[] {
  const instead = SITUATIONS.filter((situation) => isAbsent(host, situation)).flatMap((situation) => {
    const other = situation.insteadForLegacyHosts;
    return other === undefined ? [] : [{ ...situation, ...other, key: `instead of a ${situation.key}` }];
  });
  return [...SITUATIONS.filter((situation) => !isAbsent(host, situation)), ...instead];
}

interface Place {
  readonly host: HostKind;
  readonly upstream: UpstreamKind;
  readonly situation: Situation;
}

const keyOf = ({ host, upstream, situation }: Place): string =>
  [host.key, upstream.key, situation.key].join(" / ");

/** What a server may ask, once: every pair of host, server and question. Each other situation with hosts of both eras. */
const CORE: readonly string[] = THROUGH_CALL_TOOL ? [] : ["sampling", "form", "URL", "roots"];

const places = Object.values(HOSTS).flatMap((host) =>
  UPSTREAMS.flatMap((upstream) => playedBy(host).map((situation): Place => ({ host, upstream, situation }))),
);
const isCore = ({ situation }: Place): boolean => CORE.includes(situation.key);
const way = THROUGH_CALL_TOOL ? "through call_tool" : "";
const core = pairwise(`core questions ${way}`, places.filter(isCore), ({ host, upstream, situation }) => [
  host.key,
  upstream.key,
  situation.key,
]);
const others = eachValue(
  `questions ${way}`,
  places.filter((place) => !isCore(place)),
  ({ host, upstream, situation }) => [`${host.era} ${situation.key}`, `${host.key} ${upstream.key}`],
);
const DRAWN = new Set([...core, ...others].map(keyOf));
const isDrawn = (place: Place): boolean => DRAWN.has(keyOf(place));
