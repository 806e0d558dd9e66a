import { validateHeaderValue } from "node:http";
import { describe, expect, test } from "vitest";
import { decodeHeaderValue, encodeHeaderValue } from "../../src/wire/mirrored-headers.js";
import fc from "../support/fast-check.js";

/** The table of the specification (2026-07-28, basic/transports/streamable-http, "Value Encoding"). */
const EXAMPLES = [
  ["us-west1", "us-west1"],
  ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
  [" padded ", "=?base64?IHBhZGRlZCA=?="],
  ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
  ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
] as const;

test.each(EXAMPLES)("%j is written as the specification writes it", (value, header) => {
  expect(encodeHeaderValue(value)).toBe(header);
  expect(decodeHeaderValue(header)).toBe(value);
});

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme-composite" }),
  fc.string({ unit: fc.constantFrom(" ", "\t", "\r", "\n", "=", "?", "b", "\0", "\x7f") }),
  fc.string().map((text) => `=?base64?${text}?=`),
);

test("what is encoded decodes to the same, and is a header value that cannot end the header", () => {
  fc.assert(
    fc.property(
      anyText.filter((text) => text.isWellFormed()),
      (value) => {
        const header = encodeHeaderValue(value);
        expect(header).toMatch(/^[\x20-\x7e\t]*$/);
        expect(() => validateHeaderValue("mcp-name", header)).not.toThrow();
        expect(decodeHeaderValue(header)).toBe(value);
        expect(decodeHeaderValue(`  ${header}\t`)).toBe(value);
      },
    ),
    { numRuns: 2000 },
  );
});

test("no two texts share a header value", () => {
  fc.assert(
    fc.property(anyText, anyText, (a, b) => {
      fc.pre(a !== b && a.isWellFormed() && b.isWellFormed());
      expect(encodeHeaderValue(a)).not.toBe(encodeHeaderValue(b));
    }),
  );
});

describe("a header value that stands for nothing is refused:", () => {
  test.each([
    ["not Base64", "=?base64?***?="],
    ["Base64 with something after it", "=?base64?aGk=x?="],
    ["Base64 of the other alphabet", "=?base64?-_-_?="],
    ["Base64 of one character", "=?base64?a?="],
    ["Base64 without its padding", "=?base64?SGVsbG8?="],
    ["Base64 with bits to spare", "=?base64?SGVsbG9=?="],
    ["Base64 of bytes that are no UTF-8", "=?base64?/////w==?="],
    ["a line break", "a\r\nx-evil: 1"],
    ["a NUL", "a\0b"],
    ["text beyond ASCII", "世界"],
  ])("%s", (_, header) => {
    expect(decodeHeaderValue(header)).toBeUndefined();
  });
});

test("the markers are case-sensitive, and one of them alone is plain text", () => {
  for (const plain of ["=?BASE64?aGk=?=", "=?base64?aGk=", "aGk=?=", "=?base64?="]) {
    expect(encodeHeaderValue(plain)).toBe(plain);
    expect(decodeHeaderValue(plain)).toBe(plain);
  }
});
