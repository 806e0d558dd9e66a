import { expect, test } from "vitest";
import { isLoopback } from "../../src/http/loopback.js";

test.each([
  ...["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1", "[::1]"],
  ...["0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"],
])("%s is loopback", (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each([
  ...[
    "0.0.0.0",
    "::",
    "10.0.0.1",
    "example.com",
    "",
    "127.999.1.1",
    "127.1",
    "dev.localhost",
    "localhost.example.com",
  ],
  ...["127.0.0.1.nip.io", "::ffff:10.0.0.1", "localhost:80"],
])("%j is not loopback", (host) => {
  expect(isLoopback(host)).toBe(false);
});
