/**
 * Which cases of a matrix a run takes: all in `npm run test:all`, otherwise another sample in each run. The seed is printed;
 * `CARDEA_SAMPLE=7 npm test` draws the sample of seed 7 again.
 */

type Values = readonly (string | number | boolean)[];

/** What a run draws. */
interface Samples {
  /** `count` of the cases, in their order; all where the run takes all. `name` makes the samples of two matrices independent. */
  sample<T>(name: string, cases: readonly T[], count: number): T[];
  /**
   * Cases in which every pair of values that occurs in `cases` occurs at least once, in their order; all where the run takes all.
   * Which case stands for a pair depends on the seed.
   *
   * @param valuesOf the values of a case, one for each dimension of the matrix
   */
  pairwise<T>(name: string, cases: readonly T[], valuesOf: (one: T) => Values): T[];
  /** As `pairwise`, with every value at least once instead of every pair: about as many cases as the longest dimension has values. */
  eachValue<T>(name: string, cases: readonly T[], valuesOf: (one: T) => Values): T[];
}

/** The samples of a run with this seed. */
export function samplesOf(seed: number, takesAll: boolean): Samples {
  return {
    sample(name, cases, count) {
      if (takesAll || count >= cases.length) return [...cases];
      const drawn = new Set(shuffled(seed, name, cases).slice(0, count));
      return cases.filter((one) => drawn.has(one));
    },
    pairwise: (name, cases, valuesOf) => covering(name, cases, (one) => pairsOf(valuesOf(one))),
    eachValue: (name, cases, valuesOf) => covering(name, cases, (one) => singlesOf(valuesOf(one))),
  };

  /** Cases that have everything together that any case has. */
  function covering<T>(name: string, cases: readonly T[], hasOf: (one: T) => readonly string[]): T[] {
    if (takesAll) return [...cases];
    const rest = shuffled(seed, name, cases).map((one) => ({ one, has: hasOf(one) }));
    const open = new Set(rest.flatMap(({ has }) => has));
    const drawn = new Set<unknown>();
    while (open.size > 0) {
      const gains = rest.map(({ has }) => has.filter((each) => open.has(each)).length);
      const best = rest[gains.indexOf(Math.max(...gains))] as (typeof rest)[number];
      drawn.add(best.one);
      for (const each of best.has) open.delete(each);
    }
    return cases.filter((one) => drawn.has(one));
  }
}

/** Whether this run takes every case of every matrix, and more runs of every property. */
export const TAKES_ALL = process.env.CARDEA_TEST_ALL === "1";

export const { sample, pairwise, eachValue } = samplesOf(Number(process.env.CARDEA_SAMPLE ?? 1), TAKES_ALL);

const singlesOf = (values: Values): string[] => values.map((value, i) => JSON.stringify([i, value]));
const pairsOf = (values: Values): string[] =>
  values.flatMap((a, i) => values.slice(i + 1).map((b, j) => JSON.stringify([i, a, i + 1 + j, b])));

function shuffled<T>(seed: number, name: string, cases: readonly T[]): T[] {
  let state = seed;
  for (const unit of name) state = Math.imul(state ^ unit.charCodeAt(0), 0x01000193) >>> 0;
  const order = [...cases];
  for (let i = order.length - 1; i > 0; i--) {
    const j = nextBelow(i + 1);
    [order[i], order[j]] = [order[j] as T, order[i] as T];
  }
  return order;

  /** mulberry32. */
  function nextBelow(bound: number): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  }
}
