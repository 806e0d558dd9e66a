import { describe, expect, test } from "vitest";
import { cannotBeRebound, isOwnOrigin, rebindingProtection } from "../../src/http/check-request-head.js";

const names = (bind: string, allowedHosts: string[] = [], allowedOrigins: string[] = []) =>
  rebindingProtection({ bind, allowedHosts, allowedOrigins });

describe("Host on a loopback bind", () => {
  test.each([
    ["localhost", true],
    ["localhost:8080", true],
    ["LOCALHOST:8080", true],
    ["127.0.0.1:8080", true],
    ["127.9.9.9", true],
    ["[::1]:8080", true],
    ["", false],
    ["evil.example.com", false],
    ["localhost.evil.example.com", false],
    ["127.0.0.1.evil.example.com", false],
    ["evil.example.com:8080@localhost", false],
    ["localhost:8080:9090", false],
    ["localhost:port", false],
    ["localhost:99999999", false],
    ["localhost, evil.example.com", false],
    ["::1", false],
    ["[::1", false],
    ["127.0.0.1/x", false],
    ["10.0.0.1:8080", false],
    ["2130706433", false],
    ["gateway.example.com", true],
    ["gateway.example.com:443", true],
    ["other.example.com:8443", true],
    ["other.example.com", false],
    ["other.example.com:443", false],
  ])("%s", (header, allowed) => {
    expect(names("127.0.0.1", ["Gateway.example.com", "other.example.com:8443"]).allowsHost(header)).toBe(
      allowed,
    );
  });
});

test("beyond loopback an empty list allows only the bind address itself", () => {
  expect(names("0.0.0.0").allowsHost("localhost:8080")).toBe(false);
  expect(names("0.0.0.0").allowsHost("0.0.0.0:8080")).toBe(false);
  expect(names("192.168.1.5").allowsHost("192.168.1.5:8080")).toBe(true);
  expect(names("192.168.1.5").allowsHost("192.168.1.6:8080")).toBe(false);
  expect(names("fe80::1").allowsHost("[fe80::1]:8080")).toBe(true);
});

describe("Origin on a loopback bind", () => {
  test.each([
    ["http://localhost:3000", true],
    ["https://127.0.0.1", true],
    ["http://[::1]:8080", true],
    ["null", false],
    ["", false],
    ["http://evil.example.com", false],
    ["http://localhost.evil.example.com", false],
    ["http://localhost/path", false],
    ["http://evil.example.com#http://localhost", false],
    ["file://localhost", false],
    ["https://app.example.com", true],
    ["https://APP.example.com", true],
    ["http://app.example.com", false],
    ["https://app.example.com:8443", false],
    ["*", false],
  ])("%s", (header, allowed) => {
    expect(names("127.0.0.1", [], ["https://app.example.com/"]).allowsOrigin(header)).toBe(allowed);
  });
});

test("beyond loopback only listed origins are allowed", () => {
  expect(names("0.0.0.0").allowsOrigin("http://localhost:3000")).toBe(false);
  expect(names("0.0.0.0", [], ["null"]).allowsOrigin("null")).toBe(false);
});

test.each([
  ["10.1.2.3:8080", true],
  ["[fd00::1]:8080", true],
  ["LOCALHOST:8080", true],
  ["127.0.0.1", true],
  ["example.com", false],
  ["1.example.com:80", false],
  ["127.0.0.1.nip.io", false],
  ["localhost.evil.example", false],
  ["localhost:8080@evil.example", false],
  ["localhost, evil.example", false],
  ["2130706433", false],
  [" ", false],
  ["", false],
])("a DNS server cannot control %j: %s", (host, expected) => {
  expect(cannotBeRebound(host)).toBe(expected);
});

test.each([
  ["http://10.0.0.7:8080", "10.0.0.7:8080", true],
  ["https://Gateway.example", "gateway.example", true],
  ["http://10.0.0.8:8080", "10.0.0.7:8080", false],
  ["http://10.0.0.7", "10.0.0.7:8080", false],
  ["null", "null", false],
  ["file://localhost", "localhost", false],
  ["http://localhost@evil.example", "localhost", false],
])("%s comes from %s: %s", (origin, host, expected) => {
  expect(isOwnOrigin(origin, host)).toBe(expected);
});
