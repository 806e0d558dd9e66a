/** Which era a message is taken to be of, by what it claims and what its header says. */
import { expect, test } from "vitest";
import { type Era, eraOfHeader, eraOfMessage } from "../../src/downstream/edge.js";
import type { Envelope } from "../../src/wire/envelope.js";
import { META } from "../../src/wire/names.js";

const claiming = (method: string, version: unknown): Envelope => ({
  jsonrpc: "2.0",
  id: 1,
  method,
  params: { _meta: { [META.protocolVersion]: version } },
});
const plain = (method: string): Envelope => ({ jsonrpc: "2.0", id: 1, method });

test.each<[string, Envelope | readonly Envelope[], string | undefined, Era]>([
  ["a claim in the body", claiming("tools/list", "2026-07-28"), undefined, "modern"],
  ["a claim against a legacy header", claiming("tools/list", "2026-07-28"), "2025-06-18", "modern"],
  ["a claim of a revision nobody knows", claiming("tools/list", "v999"), "v999", "modern"],
  ["a claim that is no text", claiming("tools/list", 7), undefined, "modern"],
  ["initialize with a claim", claiming("initialize", "2026-07-28"), undefined, "modern"],
  ["initialize", plain("initialize"), undefined, "legacy"],
  ["initialize under a modern header", plain("initialize"), "2026-07-28", "legacy"],
  ["a modern header without a claim", plain("tools/list"), "2026-07-28", "modern"],
  ["the header of a later revision", plain("tools/list"), "2027-01-15", "modern"],
  ["a legacy header", plain("tools/list"), "2025-11-25", "legacy"],
  ["a header that is no revision", plain("tools/list"), "latest", "legacy"],
  ["nothing at all", plain("tools/list"), undefined, "legacy"],
  ["a response", { jsonrpc: "2.0", id: 1, result: {} }, undefined, "legacy"],
  ["a batch of claims", [claiming("tools/list", "2026-07-28")], "2026-07-28", "legacy"],
])("%s", (_what, message, header, era) => {
  expect(eraOfMessage(message, header)).toBe(era);
});

test("a claim that is inherited is none", () => {
  const params = JSON.parse(`{"_meta":{"__proto__":{"${META.protocolVersion}":"2026-07-28"}}}`);
  expect(eraOfMessage({ jsonrpc: "2.0", id: 1, method: "tools/list", params })).toBe("legacy");
});

test("a request without a body goes by its header alone", () => {
  expect(eraOfHeader("2026-07-28")).toBe("modern");
  expect(eraOfHeader("2025-11-25")).toBe("legacy");
  expect(eraOfHeader(undefined)).toBe("legacy");
});
