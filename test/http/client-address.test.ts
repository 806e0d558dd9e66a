/** From which address a request comes, behind proxies that the config trusts or not. */
import { describe, expect, test } from "vitest";
import { addressRanges } from "../../src/http/address-ranges.js";
import { clientAddress, networkOf } from "../../src/http/client-address.js";

const trusting = (...names: readonly string[]) =>
  clientAddress(names.map(addressRanges).filter(Array.isArray).flat());
const from = (remoteAddress: string, headers: Record<string, string> = {}) => ({
  socket: { remoteAddress },
  headers,
});

describe("the address of a client", () => {
  test.each([
    ["1.2.3.4", "1.2.3.4"],
    ["evil, 1.2.3.4", "1.2.3.4"],
    ["9.9.9.9, 1.2.3.4", "1.2.3.4"],
    ["1.2.3.4, 10.0.0.7", "1.2.3.4"],
    ["1.2.3.4:5678", "1.2.3.4"],
    ["[2001:db8::1]:443", "2001:db8::1"],
    ["2001:DB8:0:0::1", "2001:db8::1"],
    ["::ffff:1.2.3.4", "1.2.3.4"],
    ["::FFFF:0102:0304", "1.2.3.4"],
    ["10.0.0.9, 10.0.0.7", "10.0.0.9"],
    ["1.2.3.4, unknown", "10.0.0.1"],
    ["1.2.3.4, 010.0.0.7", "10.0.0.1"],
    ["1.2.3.4, fe80::1%eth0", "10.0.0.1"],
    ["1.2.3.4, 10.0.0.7:x", "10.0.0.1"],
    ["1.2.3.4,", "10.0.0.1"],
    ["", "10.0.0.1"],
  ])("with X-Forwarded-For: %s of a trusted proxy is %s", (header, address) => {
    const addressOf = trusting("10.0.0.0/8");
    expect(addressOf(from("10.0.0.1", { "x-forwarded-for": header }))).toBe(address);
    expect(addressOf(from("::ffff:10.0.0.1", { "x-forwarded-for": header }))).toBe(address);
  });

  test.each([
    ["for=1.2.3.4", "1.2.3.4"],
    ['For="[2001:db8:cafe::17]:4711"', "2001:db8:cafe::17"],
    ["for=9.9.9.9, for=1.2.3.4;proto=http;by=10.0.0.1", "1.2.3.4"],
    ['for=1.2.3.4;host="a, for=6.6.6.6"', "1.2.3.4"],
    ["proto=https;for=1.2.3.4, for=10.2.2.2", "1.2.3.4"],
    ["for=1.2.3.4, for=_hidden", "10.0.0.1"],
    ["for=1.2.3.4, proto=http", "10.0.0.1"],
    ['for=1.2.3.4, for="6.6.6.6', "10.0.0.1"],
    ["for 1.2.3.4", "10.0.0.1"],
  ])("with Forwarded: %s of a trusted proxy is %s", (header, address) => {
    expect(trusting("10.0.0.0/8")(from("10.0.0.1", { forwarded: header }))).toBe(address);
  });

  test("is that of the connection where the peer is not trusted, whatever the headers say", () => {
    const headers = { "x-forwarded-for": "1.2.3.4", forwarded: "for=1.2.3.4" };
    for (const addressOf of [
      trusting(),
      trusting("10.0.0.0/8"),
      trusting("203.0.113.9"),
      trusting("fd00::/8"),
    ])
      expect(addressOf(from("203.0.113.8", headers))).toBe("203.0.113.8");
    expect(trusting("loopback")(from("::1", headers))).toBe("1.2.3.4");
    expect(trusting("private")(from("fd12::1", headers))).toBe("1.2.3.4");
  });

  test("is that of the proxy where two headers disagree: one of them is the client's own", () => {
    const headers = { "x-forwarded-for": "1.2.3.4", forwarded: "for=6.6.6.6" };
    expect(trusting("loopback")(from("127.0.0.1", headers))).toBe("127.0.0.1");
    expect(trusting("loopback")(from("127.0.0.1", { ...headers, forwarded: "for=1.2.3.4" }))).toBe("1.2.3.4");
  });
});

test.each([
  ["1.2.3.4", "1.2.3.4"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:db8:1:2::", "2001:db8:1:2::/64"],
  ["::1", "0:0:0:0::/64"],
])("the client at %s is counted as %s", (address, network) => expect(networkOf(address)).toBe(network));

describe("listen.http.trustedProxies", () => {
  test.each(["10.0.0.1", "10.0.0.0/8", "fd00::/8", "::1", "loopback", "linklocal", "private"])(
    "may have %s",
    (text) => expect(addressRanges(text)).toBeInstanceOf(Array),
  );

  test.each([
    "0.0.0.0/0",
    "::/0",
    "10.0.0.0/33",
    "10.0.0/8",
    "example.com",
    "*",
    "10.0.0.0/8/8",
    "::ffff:10.0.0.0/104",
    "fe80::1%eth0",
    "",
    "10.0.0.1/",
  ])("may not have %j", (text) => expect(addressRanges(text)).toEqual(expect.any(String)));
});
