import { expect, test, vi } from "vitest";
import { Quota } from "../../../../src/features/policy/limits/limit.js";
import { fakeTime } from "../../../support/fake-time.js";
import fc from "../../../support/fast-check.js";

fakeTime();

const DAY = 86_400_000;

test("its window starts with the first call, and restarts when it is over", () => {
  vi.advanceTimersByTime(5_000);
  const quota = new Quota({ count: 2, windowMs: DAY });
  quota.spend();
  vi.advanceTimersByTime(1000);
  expect(quota.waitMs).toBe(0);
  quota.spend();
  expect(quota.waitMs).toBe(DAY - 1000);
  vi.advanceTimersByTime(DAY - 1001);
  expect(quota.waitMs).toBe(1);
  vi.advanceTimersByTime(1);
  expect(quota.waitMs).toBe(0);
});

test("what is given back can be spent again, but not in another time than its own", () => {
  const quota = new Quota({ count: 1, windowMs: 1000 });
  const giveBack = quota.spend();
  giveBack();
  expect(quota.waitMs).toBe(0);
  const late = quota.spend();
  vi.advanceTimersByTime(1000);
  quota.spend();
  late();
  expect(quota.waitMs).toBe(1000);
});

test("a window never lets through more than its number, whatever the pattern", () => {
  const pauses = fc.array(fc.integer({ min: 0, max: 700 }), { minLength: 1, maxLength: 60 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), pauses, (count, times) => {
      const quota = new Quota({ count, windowMs: 1000 });
      let began = Number.NEGATIVE_INFINITY;
      let taken = 0;
      for (const pause of times) {
        vi.advanceTimersByTime(pause);
        const now = performance.now();
        if (quota.waitMs > 0) {
          expect(taken).toBe(count);
          expect(quota.waitMs).toBe(began + 1000 - now);
          continue;
        }
        quota.spend();
        if (now - began >= 1000) {
          began = now;
          taken = 0;
        }
        taken += 1;
        expect(taken).toBeLessThanOrEqual(count);
      }
    }),
  );
});

test("a clock that is set changes nothing", () => {
  const quota = new Quota({ count: 1, windowMs: DAY });
  quota.spend();
  vi.setSystemTime(Date.now() + 3_600_000);
  expect(quota.waitMs).toBe(DAY);
  vi.setSystemTime(Date.now() - 7_200_000);
  expect(quota.waitMs).toBe(DAY);
});
