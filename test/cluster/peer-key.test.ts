/** How replicas know each other's requests: any change of one, and any other key, is refused. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { newReplicaId } from "../../src/cluster/open-cluster.js";
import { PeerKey } from "../../src/cluster/peer-key.js";
import { issuerOf, withIssuer } from "../../src/core/owners.js";

const MINUTE = 60_000;
const keyAt = (minute: number, secret = "secret") => new PeerKey(secret, () => minute * MINUTE);
const ids = fc.stringMatching(/^[0-9a-z]{1,8}$/);

test("a header is valid for its request, and with a clock skew of up to ten minutes", () => {
  fc.assert(
    fc.property(ids, fc.nat(99), fc.string(), fc.integer({ min: -15, max: 15 }), (from, hops, path, skew) => {
      const [, value] = keyAt(1_000).header(from, hops, "POST", path);
      const admitted = keyAt(1_000 + skew).verify(value, "POST", path);
      expect(admitted).toEqual(Math.abs(skew) <= 10 ? { from, hops } : undefined);
    }),
  );
});

test("a header is invalid for any other method, path, key, replica or number of hops", () => {
  const [, value] = keyAt(1_000).header("abcde", 1, "POST", "/mcp");
  const refused = [
    keyAt(1_000).verify(value, "GET", "/mcp"),
    keyAt(1_000).verify(value, "POST", "/mcp/other"),
    keyAt(1_000, "another").verify(value, "POST", "/mcp"),
    keyAt(1_000).verify(value.replace("abcde", "abcdf"), "POST", "/mcp"),
    keyAt(1_000).verify(value.replace(".1.", ".2."), "POST", "/mcp"),
    keyAt(1_000).verify(undefined, "POST", "/mcp"),
    keyAt(1_000).verify([value, value], "POST", "/mcp"),
  ];
  expect(refused.filter((admission) => admission !== undefined)).toEqual([]);
});

test("the check never throws", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(keyAt(1).verify(text, "GET", "/")).toBeUndefined();
    }),
  );
});

test("the id of a replica prefixes what it issues, and is never a worker number", () => {
  for (let at = 0; at < 1_000; at += 1) {
    const id = newReplicaId();
    expect(id).toMatch(/^[a-z][0-9a-z]{4}$/);
    expect(issuerOf(withIssuer(id, "some-session"))).toBe(id);
  }
});
