import { expect, test } from "vitest";
import { hundredths, isoTime } from "../../../src/features/audit/number-texts.js";
import fc from "../../support/fast-check.js";

test("a time in ms is the number, rounded to hundredths", () => {
  const times = fc.oneof(
    fc.double({ noNaN: true, min: -10, max: 1e12 }),
    fc.double({ min: 0, max: 20, noNaN: true }),
    fc.nat(),
  );
  fc.assert(
    fc.property(times, (ms) => {
      expect(JSON.parse(hundredths(ms))).toBeCloseTo(Math.round(ms * 100) / 100, 12);
      expect(hundredths(Math.abs(ms))).toBe(JSON.stringify(Math.round(Math.abs(ms) * 100) / 100));
    }),
  );
});

test("a time since 1970 is as Date writes it", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -62_000_000_000_000, max: 250_000_000_000_000 }),
      fc.nat(5_000),
      (at, later) => {
        expect(isoTime(at)).toBe(new Date(at).toISOString());
        expect(isoTime(at + later)).toBe(new Date(at + later).toISOString());
      },
    ),
  );
});

test("what is no time is refused", () => {
  expect(() => isoTime(Number.NaN)).toThrow(RangeError);
});
