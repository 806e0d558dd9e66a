/** API keys: whose they are, where they may stand, and how long they are good. */
import { beforeEach, describe, expect, test, vi } from "vitest";
import { authenticationOf, bearer, keyConfig, outcome } from "./support.js";

const compared = vi.hoisted(() => ({ times: 0 }));
vi.mock("node:crypto", async (load) => {
  const real = await load<typeof import("node:crypto")>();
  return {
    ...real,
    timingSafeEqual(a: Buffer, b: Buffer) {
      compared.times += 1;
      return real.timingSafeEqual(a, b);
    },
  };
});

const ALICE = "cardea_key-of-alice";
const BOB = "a-key-made-elsewhere/with=other+characters";
const keys = [
  keyConfig("alice", ALICE, { groups: ["staff", "admins"] }),
  keyConfig("bob", BOB),
  keyConfig("bob", "another-key-of-bob"),
];

beforeEach(() => {
  compared.times = 0;
});

describe("a key", () => {
  test.each([
    ["Authorization: Bearer", bearer(ALICE), "alice"],
    ["bearer in any case, and blanks", { authorization: `bEARER   ${ALICE}  ` }, "alice"],
    ["X-API-Key", { "x-api-key": BOB }, "bob"],
    ["a second key of the same principal", { "x-api-key": "another-key-of-bob" }, "bob"],
  ])("in %s names the principal", async (_where, headers, id) => {
    expect(await outcome(authenticationOf({ keys }), headers)).toMatchObject({ id, claims: {} });
  });

  test("brings its groups", async () => {
    expect(await outcome(authenticationOf({ keys }), bearer(ALICE))).toMatchObject({
      groups: ["staff", "admins"],
    });
  });

  test.each([
    ["an unknown key", bearer("cardea_key-of-nobody"), "unknown_key"],
    ["the hash instead of the key", bearer(keys[0]?.digest ?? ""), "unknown_key"],
    ["a key in another case", bearer(ALICE.toUpperCase()), "unknown_key"],
    ["a token where none are taken", bearer("eyJhbGciOiJub25lIn0.e30."), "unknown_key"],
    ["another scheme", { authorization: `Basic ${ALICE}` }, "missing"],
    ["no scheme", { authorization: ALICE }, "missing"],
    ["an empty header, as of a variable that is not set", { authorization: "Bearer " }, "missing"],
    ["several words", { authorization: `Bearer ${ALICE} ${ALICE}` }, "missing"],
    ["an empty X-API-Key", { "x-api-key": "" }, "missing"],
    ["a cookie", { cookie: `key=${ALICE}` }, "missing"],
    ["nothing", {}, "missing"],
  ])("%s is answered 401, and counted", async (_what, headers, reason) => {
    const authentication = authenticationOf({ keys });
    expect(await outcome(authentication, headers)).toMatchObject({ status: 401 });
    expect(authentication.failures).toEqual([reason]);
  });

  test("two credentials are refused, because a proxy in front may have checked the other", () => {
    const authentication = authenticationOf({ keys });
    const headers = { ...bearer(ALICE), "x-api-key": BOB };
    expect(() => authentication.authenticate({ headers })).toThrow("credentials in two headers");
  });

  test("the challenge names no tokens where none are issued", async () => {
    const authentication = authenticationOf({ keys });
    const asked = { status: 401, challenge: 'Bearer realm="cardea"' };
    expect(await outcome(authentication, {})).toMatchObject(asked);
    expect(authentication.metadata()).toBeUndefined();
    const told = 'Bearer error="invalid_token", error_description="this key is not known here"';
    expect(await outcome(authentication, bearer("x"))).toMatchObject({ challenge: told });
  });

  test("expires to the millisecond, also when it was seen a moment before", async () => {
    vi.useFakeTimers({ now: 1_000_000 });
    const authentication = authenticationOf({
      keys: [keyConfig("alice", ALICE, { expiresAt: 1_060_000 })],
    });
    expect(await outcome(authentication, bearer(ALICE))).toMatchObject({ id: "alice" });
    vi.setSystemTime(1_059_999);
    expect(await outcome(authentication, bearer(ALICE))).toMatchObject({ id: "alice" });
    vi.setSystemTime(1_060_000);
    const told = { status: 401, message: "this key has expired" };
    expect(await outcome(authentication, bearer(ALICE))).toMatchObject(told);
    expect(authentication.failures).toEqual(["expired"]);
    vi.useRealTimers();
  });

  test("is compared with every key there is, in constant time, wherever it matches", async () => {
    const authentication = authenticationOf({ keys });
    for (const credential of [ALICE, BOB, "nobody's", "x"]) {
      compared.times = 0;
      await outcome(authentication, bearer(credential));
      expect(compared.times).toBe(keys.length);
    }
  });

  test("that was good is not compared again, and its principal is the same object", async () => {
    const authentication = authenticationOf({ keys });
    const first = await outcome(authentication, bearer(ALICE));
    compared.times = 0;
    expect(await outcome(authentication, bearer(ALICE))).toBe(first);
    expect(await outcome(authentication, { "x-api-key": ALICE })).toBe(first);
    expect(compared.times).toBe(0);
  });
});
