import { describe, expect, test } from "vitest";
import { type FrontDoor, isLoopback, turnAway } from "../../src/core/front-door.js";

const loopback: FrontDoor = { bindHost: "127.0.0.1", allowedHosts: [], allowedOrigins: [] };
const everywhere: FrontDoor = {
  bindHost: "0.0.0.0",
  allowedHosts: ["Gateway.example:8080"],
  allowedOrigins: [],
};

const visit = (door: FrontDoor, host: string | readonly string[], origin?: string) =>
  turnAway(
    { hosts: typeof host === "string" ? [host] : host, origins: origin === undefined ? [] : [origin] },
    door,
  );

describe("a listener on loopback", () => {
  test.each(["127.0.0.1:8080", "localhost", "LocalHost:9000", "[::1]:8080", "127.3.2.1"])(
    "is called %s",
    (host) => expect(visit(loopback, host)).toBeUndefined(),
  );

  test.each([
    "evil.example:8080",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    "192.168.1.7:8080",
    "localhost:8080@evil.example",
    "localhost, evil.example",
    "127.0.0.1/x",
    "[::1",
    "",
    " ",
    "localhost:99999999",
  ])("is not called %j", (host) => expect(visit(loopback, host)).toContain("Host"));

  test("takes exactly one Host", () => {
    expect(visit(loopback, [])).toContain("exactly one Host");
    expect(visit(loopback, ["localhost", "evil.example"])).toContain("exactly one Host");
    expect(visit(loopback, ["localhost", "localhost"])).toContain("exactly one Host");
  });

  test.each(["http://localhost:3000", "http://127.0.0.1:8080", "https://[::1]"])(
    "serves pages of this machine: %s",
    (origin) => expect(visit(loopback, "localhost:8080", origin)).toBeUndefined(),
  );

  test.each([
    "null",
    "https://evil.example",
    "http://localhost.evil.example",
    "file://",
    "chrome-extension://abc",
    "http://localhost@evil.example",
  ])("serves no page of %s", (origin) =>
    expect(visit(loopback, "localhost:8080", origin)).toContain("Origin"),
  );

  test("serves the pages that the config names", () => {
    const door = { ...loopback, allowedOrigins: ["https://app.example"] };
    expect(visit(door, "localhost", "https://app.example")).toBeUndefined();
    expect(visit(door, "localhost", "https://app.example.evil")).toContain("Origin");
  });

  test("one bad Origin among several is enough", () => {
    const origins = ["http://localhost", "https://evil.example"];
    expect(turnAway({ hosts: ["localhost"], origins }, loopback)).toContain("Origin");
  });
});

describe("a listener beyond loopback", () => {
  test.each(["10.0.0.7:8080", "[fd00::1]:8080", "localhost", "gateway.example:8080"])(
    "is called %s",
    (host) => expect(visit(everywhere, host)).toBeUndefined(),
  );

  test.each(["rebound.evil.example", "gateway.example:9999", "gateway.example"])("is not called %s", (host) =>
    expect(visit(everywhere, host)).toContain("Host"),
  );

  test("serves its own pages, and those of no other machine", () => {
    expect(visit(everywhere, "10.0.0.7:8080", "http://10.0.0.7:8080")).toBeUndefined();
    expect(visit(everywhere, "10.0.0.7:8080", "http://localhost:3000")).toContain("Origin");
    expect(visit(everywhere, "10.0.0.7:8080", "http://10.0.0.8:8080")).toContain("Origin");
  });

  test("a name without a port allows every port", () => {
    const door = { ...everywhere, allowedHosts: ["gateway.example"] };
    expect(visit(door, "gateway.example:1234")).toBeUndefined();
  });
});

test("loopback is a range, not a prefix of names", () => {
  expect(["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"].every(isLoopback)).toBe(true);
  expect(["127.evil.example", "0.0.0.0", "::", "1.127.0.0", "::2"].some(isLoopback)).toBe(false);
});
