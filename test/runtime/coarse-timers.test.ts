/** Alarms ring when a timer would, and cost one only when their time is near. */
import { expect, test, vi } from "vitest";
import { CoarseTimers } from "../../src/runtime/coarse-timers.js";
import { fakeTime } from "../support/fake-time.js";

fakeTime();

/** An alarm that is set, and how often it has rung. */
function alarmIn(ms: number, alarms = new CoarseTimers()) {
  const ring = vi.fn<() => void>();
  return { alarm: alarms.set(ms, ring), ring };
}

test.each([1, 250, 1_999, 2_000, 2_001, 5_000, 59_999, 3_600_000])(
  "one in %i ms rings once, then and not before",
  (ms) => {
    vi.advanceTimersByTime(333);
    const { ring } = alarmIn(ms);
    vi.advanceTimersByTime(ms - 1);
    expect(ring).toHaveBeenCalledTimes(0);
    vi.advanceTimersByTime(1);
    expect(ring).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(10_000);
    expect(ring).toHaveBeenCalledTimes(1);
  },
);

test.each([500, 60_000])("one in %i ms that is stopped never rings, however near it was", (ms) => {
  const { alarm, ring } = alarmIn(ms);
  vi.advanceTimersByTime(ms - 1);
  alarm.clear();
  alarm.clear();
  vi.advanceTimersByTime(ms);
  expect(ring).not.toHaveBeenCalled();
});

test.each([
  [60_000, 30_000, 60_000],
  [60_000, 59_500, 60_000],
  [500, 400, 60_000],
  [60_000, 10_000, 500],
])("one in %i ms that is put off after %i ms rings %i ms later", (ms, after, later) => {
  const { alarm, ring } = alarmIn(ms);
  vi.advanceTimersByTime(after);
  alarm.reschedule(later);
  vi.advanceTimersByTime(later - 1);
  expect(ring).toHaveBeenCalledTimes(0);
  vi.advanceTimersByTime(1);
  expect(ring).toHaveBeenCalledTimes(1);
});

test("one that has rung can be put off to ring again", () => {
  const alarms = new CoarseTimers();
  let rung = 0;
  const alarm = alarms.set(25_000, () => {
    rung += 1;
    if (rung < 3) alarm.reschedule(25_000);
  });
  vi.advanceTimersByTime(200_000);
  expect(rung).toBe(3);
});

test("many that come and go do not disturb each other", () => {
  const alarms = new CoarseTimers();
  const all = Array.from({ length: 100 }, (_, at) => alarmIn(10_000 + at, alarms));
  for (const [at, { alarm }] of all.entries()) if (at % 3 !== 0) alarm.clear();
  vi.advanceTimersByTime(10_050);
  expect(all.filter(({ ring }) => ring.mock.calls.length > 0)).toHaveLength(17);
  vi.advanceTimersByTime(10_000);
  expect(all.filter(({ ring }) => ring.mock.calls.length > 0)).toHaveLength(34);
});

test("the timer is cleared soon after the last timeout, and set again for the next one", () => {
  const alarms = new CoarseTimers();
  alarmIn(60_000, alarms).alarm.clear();
  vi.advanceTimersByTime(1_000);
  expect(vi.getTimerCount()).toBe(0);
  const { ring } = alarmIn(60_000, alarms);
  vi.advanceTimersByTime(60_000);
  expect(ring).toHaveBeenCalledTimes(1);
});
