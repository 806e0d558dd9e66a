/** The samples that stand for whole matrices. */
import { describe, expect, test } from "vitest";
import { samplesOf } from "./sample.js";

const CASES = ["a", "b", "c"].flatMap((host) =>
  [1, 2, 3, 4].flatMap((server) => [true, false].map((asks) => ({ host, server, asks }))),
);
const valuesOf = ({ host, server, asks }: (typeof CASES)[number]) => [host, server, asks];

describe("a sample", () => {
  test("has as many cases as asked for, in their order, and is the same for the same seed", () => {
    const { sample } = samplesOf(7, false);
    const drawn = sample("m", CASES, 5);
    expect(drawn).toHaveLength(5);
    expect(drawn).toEqual(CASES.filter((one) => drawn.includes(one)));
    expect(sample("m", CASES, 5)).toEqual(drawn);
  });

  test("of all seeds together is the whole matrix", () => {
    const seen = new Set<unknown>();
    for (let seed = 0; seed < 60; seed++) {
      const { sample } = samplesOf(seed, false);
      for (const one of sample("m", CASES, 5)) seen.add(one);
    }
    expect(seen.size).toBe(CASES.length);
  });

  test("is everything in a run of all", () => {
    const { sample, pairwise, eachValue } = samplesOf(7, true);
    expect(sample("m", CASES, 1)).toEqual(CASES);
    expect(pairwise("m", CASES, valuesOf)).toEqual(CASES);
    expect(eachValue("m", CASES, valuesOf)).toEqual(CASES);
  });
});

describe("pairwise cases", () => {
  test("have every pair of values, in far fewer cases, by whatever seed", () => {
    for (let seed = 0; seed < 20; seed++) {
      const { pairwise } = samplesOf(seed, false);
      const drawn = pairwise("m", CASES, valuesOf);
      expect(drawn.length).toBeLessThan(CASES.length * 0.7);
      for (const a of CASES) {
        for (const [i, j] of [
          [0, 1],
          [0, 2],
          [1, 2],
        ] as const) {
          const [x, y] = [valuesOf(a)[i], valuesOf(a)[j]];
          expect(drawn.some((one) => valuesOf(one)[i] === x && valuesOf(one)[j] === y)).toBe(true);
        }
      }
    }
  });
});

describe("cases with each value", () => {
  test("are as many as the longest dimension has values, by whatever seed, and of all seeds together the whole matrix", () => {
    const seen = new Set<unknown>();
    for (let seed = 0; seed < 100; seed++) {
      const drawn = samplesOf(seed, false).eachValue("m", CASES, valuesOf);
      for (const one of drawn) seen.add(one);
      expect(drawn).toHaveLength(4);
      for (const dimension of [0, 1, 2]) {
        const values = (cases: typeof CASES) => new Set(cases.map((one) => valuesOf(one)[dimension]));
        expect(values(drawn)).toEqual(values(CASES));
      }
    }
    expect(seen.size).toBe(CASES.length);
  });
});
