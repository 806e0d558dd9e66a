/** Which arguments are repeated in headers, and how any string is written as a header value. */
import { validateHeaderValue } from "node:http";
import { describe, expect, test } from "vitest";
import {
  argumentAt,
  decodeHeaderValue,
  encodeHeaderValue,
  paramHeaders,
} from "../../src/wire/mirrored-headers.js";
import fc from "../support/fast-check.js";

const schema = (properties: object, rest: object = {}) => ({ type: "object", properties, ...rest });
const region = { type: "string", "x-mcp-header": "Region" };

describe("annotations of an input schema", () => {
  test("are found at any depth of properties, in order, with the header name in lower case", () => {
    const found = paramHeaders(
      schema({
        region,
        query: { type: "string" },
        where: schema({ row: { type: "integer", "x-mcp-header": "Row-Id" } }),
        dry: { type: "boolean", "x-mcp-header": "Dry" },
      }),
    );
    expect(found).toEqual({
      headers: [
        { header: "mcp-param-region", path: ["region"] },
        { header: "mcp-param-row-id", path: ["where", "row"] },
        { header: "mcp-param-dry", path: ["dry"] },
      ],
    });
  });

  test("are read once per schema", () => {
    const input = schema({ region });
    expect(paramHeaders(input)).toBe(paramHeaders(input));
  });

  test.each([
    ["in the items of an array", schema({ list: { type: "array", items: region } }), "list"],
    ["in a branch", schema({}, { oneOf: [schema({ region })] }), "region"],
    ["in a definition", schema({}, { $defs: { r: region } }), "the root"],
    ["at the root", { ...schema({}), "x-mcp-header": "Root" }, "the root"],
    ["with an empty name", schema({ a: { type: "string", "x-mcp-header": "" } }), "a"],
    ["with a line break in the name", schema({ a: { type: "string", "x-mcp-header": "A\r\nB" } }), "a"],
    [
      "on a number, which may be none that a header can carry exactly",
      schema({ a: { type: "number", "x-mcp-header": "A" } }),
      "a",
    ],
    ["on an object", schema({ a: { type: "object", "x-mcp-header": "A" } }), "a"],
    ["twice, whatever the case", schema({ a: region, b: { type: "string", "x-mcp-header": "REGION" } }), "b"],
  ])("are a fault %s", (_where, input, place) => {
    expect(paramHeaders(input).fault).toContain(`x-mcp-header at ${place} `);
  });

  test("leave data unchanged that only looks like an annotation", () => {
    expect(paramHeaders(schema({ a: { type: "object", default: { "x-mcp-header": "A" } } }))).toEqual({
      headers: [],
    });
  });

  test("do not overflow the stack however deep the schema is", () => {
    let deep: object = schema({ region });
    for (let i = 0; i < 20_000; i++) deep = { not: deep };
    expect(paramHeaders(deep).fault).toContain("is where no argument can be read");
  });
});

test("an argument is read at its exact path, own properties only", () => {
  expect(argumentAt({ where: { row: 7 } }, ["where", "row"])).toBe(7);
  expect(argumentAt({ where: 7 }, ["where", "row"])).toBeUndefined();
  expect(argumentAt({}, ["constructor", "name"])).toBeUndefined();
  expect(argumentAt(undefined, ["a"])).toBeUndefined();
});

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

describe("an unmatched header value is refused:", () => {
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
