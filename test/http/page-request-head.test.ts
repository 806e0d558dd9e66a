/** Which requests a page for a person takes: those of its own form, as browsers send it. */
import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { checkPageRequestHead, rebindingProtection } from "../../src/http/check-request-head.js";

const protection = rebindingProtection({ bind: "127.0.0.1", allowedHosts: [], allowedOrigins: [] });
const check = (headers: Readonly<Record<string, string>>): void => {
  const all = { host: "127.0.0.1:8080", ...headers };
  const request = { url: "/", headers: all, rawHeaders: Object.entries(all).flat() };
  checkPageRequestHead(request as unknown as IncomingMessage, protection);
};

test.each([
  {},
  { origin: "http://127.0.0.1:8080" },
  // Chrome sends this from a page with "Referrer-Policy: no-referrer".
  { origin: "null", "sec-fetch-site": "same-origin" },
])("a page accepts a form with %j", (headers) => {
  expect(() => check(headers)).not.toThrow();
});

test.each([
  { origin: "null" },
  { origin: "null", "sec-fetch-site": "cross-site" },
  { origin: "null", "sec-fetch-site": "same-site" },
  { origin: "https://evil.example", "sec-fetch-site": "same-origin" },
])("a page refuses a form with %j", (headers) => {
  expect(() => check(headers)).toThrow("Origin");
});

test("a page refuses another Host", () => {
  expect(() => check({ host: "rebound.example" })).toThrow("Host");
});
