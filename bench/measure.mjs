/** Measures several targets in turn, round by round, and says what came of them. */
import { openLoad } from "./processes.mjs";

/** A round in which others took more than this of one core is measured again. */
const DISTURBED = 0.15;

export const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

/**
 * By name the medians; `against(name, other, figure)`: the median of the ratios of each round; and `calm`: whether most
 * rounds were undisturbed.
 */
function summary(names, kept, worse) {
  const all = [...kept, ...worse];
  const of = (name, figure) => all.map((round) => round[name][figure]);
  const figures = ["perSecond", "p50", "p99", "cpuUs", "rss"];
  const medians = (name) => Object.fromEntries(figures.map((figure) => [figure, median(of(name, figure))]));
  return {
    ...Object.fromEntries(names.map((name) => [name, medians(name)])),
    kept,
    worse,
    calm: kept.length > worse.length,
    against: (name, other, figure) =>
      median(of(name, figure).map((value, i) => value / of(other, figure)[i])),
  };
}

/** A target that was never called runs as slowly as it ever will: V8 compiles by calls, so a slow machine needs longer. */
const FIRST = { warmSeconds: 1.5, warmCalls: 20_000 };
/** Rounds that do not count, once all targets are warm: while the later ones were warmed, the earlier ones were idle. */
const WARM_ROUNDS = 4;

/**
 * A measuring run: how long a round takes, how many there are, and how often one may be measured again because
 * others were busy; and how long it takes where there are no rounds. `notes` tells what it came to.
 * @param {{ roundSeconds: number, rounds: number, again: number, seconds: number, warmSeconds: number }} settings
 */
export function createMeasure({ roundSeconds, rounds, again, seconds, warmSeconds }) {
  const notes = { rounds: 0, repeated: 0, disturbed: 0, errors: 0, firstError: undefined };
  let left = again;

  const warmed = new Set();

  /** Sessions at a target that are warm. */
  async function open(target, job) {
    const first = !warmed.has(target.url);
    warmed.add(target.url);
    return openLoad(target, { ...(first ? FIRST : { warmSeconds }), ...job });
  }

  async function measured(load) {
    const run = await load.round();
    notes.errors += run.errors;
    notes.firstError ??= run.firstError;
    return run;
  }

  /** One measurement of one target. */
  async function once(target, job = {}) {
    const load = await open(target, { seconds, ...job });
    const run = await measured(load);
    await load.close();
    return run;
  }

  /**
   * Every target in every round, forwards and backwards by turns, so that none is always the first. Rounds are short,
   * and sessions stay open for all of them: a machine that is slower for some seconds is so for every target.
   * @param targets by name; `job` of a target is what it is requested beyond the common one
   * @param before what came of the same work done by other processes, to be taken together with these
   * @param share how many processes of each target there will be: each does its share of the rounds
   */
  async function interleave(targets, job = {}, { before, share = 1 } = {}) {
    const names = Object.keys(targets);
    const loads = {};
    for (const name of names) {
      loads[name] = await open(targets[name], { seconds: roundSeconds, ...job, ...targets[name].job });
    }
    for (let n = 0; n < WARM_ROUNDS; n += 1) for (const name of names) await measured(loads[name]);
    const kept = [];
    const worse = [];
    while (kept.length + worse.length < Math.ceil(rounds / share)) {
      const round = {};
      notes.rounds += 1;
      for (const name of notes.rounds % 2 === 0 ? names.toReversed() : names) {
        round[name] = await measured(loads[name]);
      }
      const busiest = Math.max(...names.map((name) => round[name].othersShare));
      if (busiest <= DISTURBED) kept.push(round);
      else if (left > 0) {
        left -= 1;
        notes.repeated += 1;
      } else worse.push(round);
    }
    for (const load of Object.values(loads)) await load.close();
    notes.disturbed += worse.length;
    return summary(names, [...(before?.kept ?? []), ...kept], [...(before?.worse ?? []), ...worse]);
  }

  return { once, interleave, notes };
}
