/** Which rounds count as used, also after more of them than memory has room for. */
import { describe, expect, test } from "vitest";
import { newRoundId, UsedRounds } from "../../src/resilience/used-rounds.js";
import fc from "../support/fast-check.js";

const person = (id: string) => ({ id });

describe("a round", () => {
  test("is used once, by its principal, until it is given back", () => {
    const rounds = new UsedRounds();
    const id = newRoundId(1000);
    expect([rounds.use(person("ann"), id), rounds.use(person("ann"), id)]).toEqual([true, false]);
    expect(rounds.use(person("bob"), id)).toBe(true);
    rounds.giveBack(person("ann"), id);
    expect([rounds.use(person("ann"), id), rounds.use(person("ann"), id)]).toEqual([true, false]);
  });

  test("is never used twice, however many others come between and whose they are", () => {
    const use = fc.record({ who: fc.constantFrom("ann", "bob", "eve"), made: fc.nat(40), which: fc.nat(3) });
    fc.assert(
      fc.property(fc.array(use, { maxLength: 200 }), (uses) => {
        const rounds = new UsedRounds(5);
        const ids = new Map<string, string>();
        const used = new Set<string>();
        for (const { who, made, which } of uses) {
          const key = `${made} ${which}`;
          const id = ids.get(key) ?? newRoundId(made + 1);
          ids.set(key, id);
          if (rounds.use(person(who), id)) {
            expect(used.has(`${who} ${id}`)).toBe(false);
            used.add(`${who} ${id}`);
          }
        }
      }),
    );
  });

  test("of one principal is not evicted by another who uses many", () => {
    const rounds = new UsedRounds(100);
    const mine = Array.from({ length: 10 }, (_, at) => newRoundId(1000 + at));
    for (const id of mine.slice(0, 5)) expect(rounds.use(person("ann"), id)).toBe(true);
    for (let at = 0; at < 1000; at += 1) rounds.use(person("eve"), newRoundId(2000 + at));
    expect(mine.map((id) => rounds.use(person("ann"), id))).toEqual([
      ...Array(5).fill(false),
      ...Array(5).fill(true),
    ]);
    // The rounds that eve made before those that were evicted can no longer be used.
    expect(rounds.use(person("eve"), newRoundId(2100))).toBe(false);
    expect(rounds.use(person("eve"), newRoundId(4000))).toBe(true);
  });
});
