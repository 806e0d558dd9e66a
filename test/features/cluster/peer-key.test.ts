/** How processes of one gateway know each other's requests: any change of one, and any other key, is refused. */

import { expect, test } from "vitest";
import { ANONYMOUS } from "../../../src/core/client.js";
import { issuerOf, withIssuer } from "../../../src/core/owners.js";
import { newReplicaId } from "../../../src/features/cluster/open-cluster.js";
import { RequestSignatures } from "../../../src/runtime/signed-requests.js";
import fc from "../../support/fast-check.js";

const MINUTE = 60_000;
const keyAt = (minute: number, secret = "secret") => new RequestSignatures(secret, () => minute * MINUTE);
const ids = fc.stringMatching(/^[0-9a-z]{1,8}$/);
const ANN = { id: "ann", groups: ["ops"], claims: { sub: "ann", n: 1 }, byToken: true };

test("a signature is valid for its request, and with a clock skew of up to ten minutes", () => {
  fc.assert(
    fc.property(ids, fc.nat(99), fc.string(), fc.integer({ min: -15, max: 15 }), (from, hops, path, skew) => {
      const request = { from, to: "bbbbb", hops, principal: ANN };
      const [, value] = keyAt(1_000).header(request, "POST", path);
      const signed = keyAt(1_000 + skew).verify(value, "bbbbb", "POST", path);
      expect(signed).toEqual(Math.abs(skew) <= 10 ? request : undefined);
    }),
  );
});

test("a signature is invalid for any other method, path, key, replica, principal or number of hops", () => {
  const request = { from: "aaaaa", to: "bbbbb", hops: 1, principal: ANN };
  const [, value] = keyAt(1_000).header(request, "POST", "/mcp");
  const forged = (change: object): string => {
    const [version, text = "", mac] = value.split(".");
    const content = JSON.parse(Buffer.from(text, "base64url").toString()) as object;
    const changed = Buffer.from(JSON.stringify({ ...content, ...change })).toString("base64url");
    return [version, changed, mac].join(".");
  };
  const verify = (text: unknown, to = "bbbbb", method = "POST", path = "/mcp", secret = "secret") =>
    keyAt(1_000, secret).verify(text, to, method, path);
  const refused = [
    verify(value, "ccccc"),
    verify(value, "bbbbb", "GET"),
    verify(value, "bbbbb", "POST", "/mcp/other"),
    verify(value, "bbbbb", "POST", "/mcp", "another"),
    verify(forged({ principal: JSON.stringify({ ...ANN, id: "root" }) })),
    verify(forged({ from: "ccccc" })),
    verify(forged({ hops: 0 })),
    verify(forged({ at: 1_009 * MINUTE })),
    verify(undefined),
    verify([value, value]),
  ];
  expect(refused.filter((signed) => signed !== undefined)).toEqual([]);
  expect(verify(value)).toEqual(request);
});

test("the same host is the same object at each request, and the anonymous one is that of this process", () => {
  const verify = (principal: typeof ANN | typeof ANONYMOUS) => {
    const [, value] = keyAt(1).header({ from: "a", to: "b", hops: 1, principal }, "POST", "/mcp");
    return value;
  };
  const key = keyAt(1);
  const principalIn = (value: string) => key.verify(value, "b", "POST", "/mcp")?.principal;
  expect(principalIn(verify(ANN))).toBe(principalIn(verify({ ...ANN })));
  expect(principalIn(verify({ ...ANONYMOUS }))).toBe(ANONYMOUS);
});

test("the check never throws", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(keyAt(1).verify(text, "", "GET", "/")).toBeUndefined();
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
