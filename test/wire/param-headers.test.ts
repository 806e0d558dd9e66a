import { describe, expect, test } from "vitest";
import { argumentAt, paramHeaders } from "../../src/wire/mirrored-headers.js";

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

  test("leave data alone that only looks like an annotation", () => {
    expect(paramHeaders(schema({ a: { type: "object", default: { "x-mcp-header": "A" } } }))).toEqual({
      headers: [],
    });
  });

  test("do not overflow the stack however deep the schema is", () => {
    let deep: object = schema({ region });
    for (let i = 0; i < 20_000; i++) deep = { not: deep };
    expect(paramHeaders(deep).fault).toContain("stands where no argument can be read");
  });
});

test("an argument is read at its exact path, own properties only", () => {
  expect(argumentAt({ where: { row: 7 } }, ["where", "row"])).toBe(7);
  expect(argumentAt({ where: 7 }, ["where", "row"])).toBeUndefined();
  expect(argumentAt({}, ["constructor", "name"])).toBeUndefined();
  expect(argumentAt(undefined, ["a"])).toBeUndefined();
});
