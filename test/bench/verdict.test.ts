/** Whether the benchmark calls a difference between two builds one, or the noise of the machine. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type ProcessSet, verdict } from "../../bench/verdict.mjs";

/** Figures about `around` that processes of one program may have, at most `spread` apart from it. */
const pair = (around: number, spread: number) =>
  fc
    .tuple(fc.double({ min: -1, max: 1, noNaN: true }), fc.double({ min: -1, max: 1, noNaN: true }))
    .map(([one, two]): [number, number] => [around * (1 + one * spread), around * (1 + two * spread)]);
const sets = (before: number, now: number, spread: number) =>
  fc.array(fc.record({ before: pair(before, spread), now: pair(now, spread) }), {
    minLength: 4,
    maxLength: 8,
  });

test("a build of twice the cost is slower, and one of half the cost faster, beside a noise of three percent", () => {
  const says = (now: number, word: string) =>
    fc.assert(
      fc.property(sets(100, now, 0.03), (all) => {
        expect(verdict(all).word).toBe(word);
      }),
    );
  says(200, "slower");
  says(50, "faster");
});

test("a difference that is within what each build has from itself has no name", () => {
  const noisy: ProcessSet[] = [
    { before: [100, 130], now: [104, 138] },
    { before: [128, 99], now: [131, 107] },
    { before: [101, 127], now: [139, 104] },
  ];
  const { word, change, noise } = verdict(noisy);
  expect(word).toBe("no difference");
  expect(change).toBeGreaterThan(0.02);
  expect(noise).toBeGreaterThan(change);
});

test("of a machine without noise a difference below one percent is none", () => {
  const quiet = Array.from({ length: 4 }, (): ProcessSet => ({ before: [100, 100], now: [100.9, 100.9] }));
  expect(verdict(quiet).word).toBe("no difference");
});

test("one set says little: its interval is so wide that only a large difference is one", () => {
  expect(verdict([{ before: [100, 102], now: [105, 107] }]).word).toBe("no difference");
});
