/** Schemas evaluate exactly the numbers that the server receives. */
import { describe, expect, test } from "vitest";
import { parseJson } from "../../../../src/wire/json-text.js";
import { validated } from "./support.js";

describe("a schema", () => {
  test.each([
    [{ type: "integer" }, "1.0", "fits"],
    [{ type: "integer" }, "1e2", "fits"],
    [{ type: "integer" }, "1e400", "fits"],
    [{ type: "integer" }, "1.50", "wrong"],
    [{ type: "integer" }, "1e-400", "wrong"],
    [{ type: "number" }, "9007199254740993", "fits"],
    [{ type: "object" }, "1.0", "wrong"],
    [{ type: "string" }, "1.0", "wrong"],
    [{ maximum: 9007199254740992 }, "9007199254740993", "wrong"],
    [{ maximum: 9007199254740992 }, "9007199254740992.0", "fits"],
    [{ exclusiveMinimum: 9007199254740992 }, "9007199254740993", "fits"],
    [{ exclusiveMinimum: 1 }, "1.0", "wrong"],
    [{ maximum: "1e400" }, "1e401", "wrong"],
    [{ maximum: "1e400" }, "1E400", "fits"],
    [{ minimum: "-1e400" }, "-1e401", "wrong"],
    [{ minimum: 0 }, "-1e-400", "wrong"],
    [{ multipleOf: 2 }, "9007199254740993", "wrong"],
    [{ multipleOf: 3 }, "9007199254740993", "fits"],
    [{ multipleOf: 0.01 }, "1.10", "fits"],
    [{ const: "9007199254740993" }, "9007199254740993", "fits"],
    [{ const: "9007199254740993" }, "9007199254740992", "wrong"],
    [{ const: 1 }, "1.0", "fits"],
    [{ const: "1.0" }, "1", "fits"],
    [{ enum: [1, "1e2"] }, "100", "fits"],
    [{ enum: [1, "1e2"] }, "1e3", "wrong"],
  ])("%j says of %s that it is %s", async (schema, value, expected) => {
    const exact = Object.fromEntries(
      Object.entries(schema).map(([key, given]) => {
        const read = (each: unknown) => (/^-?\d/.test(String(each)) ? parseJson(String(each)) : each);
        return [key, Array.isArray(given) ? given.map(read) : read(given)];
      }),
    );
    const said = await validated(exact, parseJson(value));
    expect(said === "fits" ? "fits" : "wrong", said).toBe(expected);
  });

  test("takes elements of equal worth for equal", async () => {
    expect(await validated({ uniqueItems: true }, parseJson("[1, 1.0]"))).toContain("no two equal");
    expect(await validated({ uniqueItems: true }, parseJson("[9007199254740992, 9007199254740993]"))).toBe(
      "fits",
    );
    expect(await validated({ uniqueItems: true }, parseJson("[1e400, 1e401]"))).toBe("fits");
  });
});
