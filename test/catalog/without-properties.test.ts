/** The schema that hosts see where the config fixes an argument to which other parts of the schema refer. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/wire/json.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";
import { catalogOf, itemsOf, server, tool } from "./support.js";

/** The listed input schema of a tool whose argument `x` is fixed. */
async function listed(schema: JsonObject, fixed: JsonObject = { x: "fixed" }) {
  const db = fakeUpstream("db", { lists: { tools: [tool("t", { inputSchema: schema })] } });
  const overrides = { t: { arguments: { defaults: {}, fixed } } };
  const catalog = catalogOf([db], { servers: [server("db", { overrides })] });
  await catalog.prepare(fakeClient());
  return itemsOf(catalog, "tools")[0]?.inputSchema as JsonObject;
}

const TEXT = { type: "string", minLength: 2 };
const object = (properties: object, more: object = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});
/** `y` must be a text of two characters. */
const constrainsY = (schema: JsonObject): boolean => {
  const validate = new Ajv2020({ strict: false }).compile(structuredClone(schema));
  return validate({ y: "ab" }) && !validate({ y: "a" });
};

test.each([
  ["a pointer", object({ x: TEXT, y: { $ref: "#/properties/x" } })],
  ["a deeper pointer", object({ x: object({ z: TEXT }), y: { $ref: "#/properties/x/properties/z" } })],
  [
    "a pointer into a list",
    object({ x: { anyOf: [{ type: "null" }, TEXT] }, y: { $ref: "#/properties/x/anyOf/1" } }),
  ],
  ["two steps", object({ x: { $ref: "#/properties/w" }, w: TEXT, y: { $ref: "#/properties/x" } })],
  ["an anchor", object({ x: { ...TEXT, $anchor: "two" }, y: { $ref: "#two" } })],
  ["an anchor inside", object({ x: object({ z: { ...TEXT, $anchor: "two" } }), y: { $ref: "#two" } })],
  [
    "an $id",
    object(
      { x: { ...TEXT, $id: "two.json" }, y: { $ref: "two.json" } },
      { $id: "https://e.test/a/root.json" },
    ),
  ],
  [
    "a pointer into an $id",
    object({ x: { $id: "https://e.test/x", $defs: { a: TEXT } }, y: { $ref: "https://e.test/x#/$defs/a" } }),
  ],
  [
    "the URI of the whole",
    object({ x: TEXT, y: { $ref: "https://e.test/root#/properties/x" } }, { $id: "https://e.test/root" }),
  ],
  [
    "a definition",
    object({ x: TEXT, y: { $ref: "#/$defs/d" } }, { $defs: { d: { $ref: "#/properties/x" }, x: {} } }),
  ],
])("a removed argument that %s leads to is a definition", async (_how, schema) => {
  expect(constrainsY(schema)).toBe(true);
  const shown = await listed(schema);
  expect(Object.keys(shown.properties as object)).not.toContain("x");
  expect(constrainsY(shown)).toBe(true);
});

test("a dynamic anchor in a removed argument stays in reach", async () => {
  const x = { ...TEXT, $dynamicAnchor: "two" };
  const y = { $dynamicRef: "#two" };
  expect(await listed(object({ x, y }))).toEqual(object({ y }, { $defs: { x } }));
});

test.each([
  ["a/b", "#/properties/a~1b"],
  ["a~b", "#/properties/a~0b"],
  ["a%b", "#/properties/a%25b"],
  ["a b", "#/properties/a%20b"],
  ["ä", "#/properties/%C3%A4"],
])("an argument called %s is found by %s", async (name, $ref) => {
  const schema = object({ [name]: TEXT, y: { $ref } });
  expect(constrainsY(schema)).toBe(true);
  expect(constrainsY(await listed(schema, { [name]: 1 }))).toBe(true);
});

test("what nothing refers to is gone, and what is data or belongs to another resource stays unchanged", async () => {
  const y = { default: { $ref: "#/properties/x" }, $ref: "#/properties/z" };
  expect(await listed(object({ x: TEXT, y, z: {} }, { required: ["x"] }))).toEqual(object({ y, z: {} }));
  const inner = { $id: "https://e.test/inner", ...object({ x: TEXT, a: { $ref: "#/properties/x" } }) };
  expect(await listed(object({ x: TEXT, y: inner }))).toEqual(object({ y: inner }));
});

test("a removed argument that refers to itself and to another removed one takes both along", async () => {
  const node = object({ next: { $ref: "#/properties/x" }, leaf: { $ref: "#/properties/w" } });
  const schema = object({ x: node, w: TEXT, v: TEXT, y: { $ref: "#/properties/x" } });
  expect(await listed(schema, { x: 1, w: 1, v: 1 })).toEqual(
    object(
      { y: { $ref: "#/$defs/x" } },
      { $defs: { x: object({ next: { $ref: "#/$defs/x" }, leaf: { $ref: "#/$defs/w" } }), w: TEXT } },
    ),
  );
});

test("a definition of that name is not replaced", async () => {
  const shown = await listed(
    object({ x: TEXT, y: { $ref: "#/properties/x" } }, { $defs: { x: { type: "null" } } }),
  );
  expect(shown).toEqual(
    object({ y: { $ref: "#/$defs/x_2" } }, { $defs: { x: { type: "null" }, x_2: TEXT } }),
  );
});
