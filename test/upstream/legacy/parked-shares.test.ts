/** The limit of parked calls: shared between principals, each of which loses its own oldest. */
import { describe, expect, test } from "vitest";
import { ANONYMOUS } from "../../../src/core/client.js";
import { type ParkableCall, ParkedCalls } from "../../../src/upstream/legacy/parked-calls.js";
import { fakeTime } from "../../support/fake-time.js";

fakeTime();

const parking = (limits: Partial<ConstructorParameters<typeof ParkedCalls>[0]> = {}) => {
  const calls = new ParkedCalls({ total: 40, perPrincipal: 30, perServer: 16, answerMs: 60_000, ...limits });
  const expired: string[] = [];
  let last = 0;
  const park = (principal: string, server = "a", isOpen = false): string | undefined => {
    last += 1;
    const name = `${principal} ${last}`;
    const call: ParkableCall = {
      identity: name,
      principal,
      server,
      isOpen,
      resume: () => Promise.reject(new Error("not here")),
      expire: () => expired.push(name),
    };
    return calls.park(call);
  };
  return { calls, expired, park };
};

describe("parked calls", () => {
  test("of one principal at one server leave slots there for others", () => {
    const { park, expired } = parking();
    for (let at = 0; at < 100; at += 1) expect(park("ann")).toBeDefined();
    expect(expired).toHaveLength(100 - 12);
    expect(expired[0]).toBe("ann 1");
    const others = ["bob", "cid", "dan", "eve"].map((id) => park(id));
    expect(others).not.toContain(undefined);
    expect(expired.filter((name) => !name.startsWith("ann"))).toEqual([]);
  });

  test("of one principal at many servers leave slots for others, wherever they call", () => {
    const { park, expired } = parking();
    for (let at = 0; at < 200; at += 1) expect(park("ann", `s${at % 20}`)).toBeDefined();
    expect(park("bob", "s0")).toBeDefined();
    expect(expired.every((name) => name.startsWith("ann"))).toBe(true);
  });

  test("are refused to a principal with none of its own to evict", () => {
    const { park, expired } = parking({ perServer: 2 });
    expect([park("ann"), park("bob")]).not.toContain(undefined);
    expect(park("cid")).toBeUndefined();
    expect(park("ann", "b")).toBeDefined();
    expect(expired).toEqual([]);
  });

  test("of the anonymous principal are refused above the limit: each may belong to another host", () => {
    const { park, expired } = parking();
    const parked = Array.from({ length: 20 }, () => park(ANONYMOUS.id));
    expect(parked.filter((token) => token === undefined)).toHaveLength(4);
    expect(expired).toEqual([]);
  });

  test("in sessions take no slots, which their sessions limit", () => {
    const { park } = parking({ perServer: 1 });
    expect([park("ann", "a", true), park("ann", "a", true), park("ann")]).not.toContain(undefined);
  });
});
