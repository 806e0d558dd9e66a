import { expect, test, vi } from "vitest";
import { TokenBucket } from "../../../../src/features/policy/limits/limit.js";
import { fakeTime } from "../../../support/fake-time.js";
import fc from "../../../support/fast-check.js";

fakeTime();

/** Takes as many as there are at this moment. */
function drain(bucket: TokenBucket, most = 1000): number {
  let taken = 0;
  while (taken < most && bucket.waitMs === 0) {
    bucket.spend();
    taken += 1;
  }
  return taken;
}

test("a new bucket is full, and fills up evenly after that", () => {
  const bucket = new TokenBucket({ capacity: 5, perMs: 10 / 60_000 });
  expect(drain(bucket)).toBe(5);
  expect(bucket.waitMs).toBeCloseTo(6000, 3);
  vi.advanceTimersByTime(5999);
  expect(drain(bucket)).toBe(0);
  vi.advanceTimersByTime(1);
  expect(drain(bucket)).toBe(1);
  vi.advanceTimersByTime(3_600_000);
  expect(drain(bucket)).toBe(5);
});

test("a caller that waits for retryAfterMs need not wait again", () => {
  const rates = fc.record({
    capacity: fc.integer({ min: 1, max: 20 }),
    count: fc.integer({ min: 1, max: 1000 }),
  });
  fc.assert(
    fc.property(rates, fc.constantFrom(1000, 60_000, 3_600_000), ({ capacity, count }, windowMs) => {
      const bucket = new TokenBucket({ capacity, perMs: count / windowMs });
      drain(bucket);
      vi.advanceTimersByTime(Math.ceil(bucket.waitMs));
      expect(bucket.waitMs).toBe(0);
    }),
  );
});

test("in any interval at most the burst and the refill are admitted", () => {
  const steps = fc.array(fc.oneof(fc.constant("take" as const), fc.integer({ min: 1, max: 5000 })), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(
      steps,
      fc.integer({ min: 1, max: 10 }),
      fc.integer({ min: 1, max: 100 }),
      (all, capacity, count) => {
        const perMs = count / 60_000;
        const bucket = new TokenBucket({ capacity, perMs });
        const taken: number[] = [];
        for (const step of all) {
          if (step !== "take") vi.advanceTimersByTime(step);
          else if (bucket.waitMs === 0) {
            bucket.spend();
            taken.push(performance.now());
          }
        }
        for (let from = 0; from < taken.length; from += 1) {
          for (let to = from; to < taken.length; to += 1) {
            const stretch = (taken[to] ?? 0) - (taken[from] ?? 0);
            expect(to - from + 1).toBeLessThanOrEqual(capacity + stretch * perMs + 1e-6);
          }
        }
      },
    ),
  );
});

test("what is given back can be taken again, but never more than it holds", () => {
  const bucket = new TokenBucket({ capacity: 2, perMs: 1e-9 });
  const giveBack = [bucket.spend(), bucket.spend()];
  expect(drain(bucket)).toBe(0);
  for (const back of [...giveBack, ...giveBack]) back();
  expect(drain(bucket)).toBe(2);
});
