/** The size and digest that a person is shown of what is too long to be shown are those of the whole. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { measureJson } from "../../../src/features/policy/measured-json.js";
import { ExactNumber } from "../../../src/wire/json.js";
import { writeJson } from "../../../src/wire/json-text.js";
import fc from "../../support/fast-check.js";

test("of any value", async () => {
  const value = fc.jsonValue({ maxDepth: 5 });
  await fc.assert(
    fc.asyncProperty(value, fc.double(), async (json, number) => {
      const whole = writeJson({ json, exact: new ExactNumber("1.0"), number, é: ["😀", {}, []] });
      expect(await measureJson({ json, exact: new ExactNumber("1.0"), number, é: ["😀", {}, []] })).toEqual({
        bytes: Buffer.byteLength(whole),
        sha256: createHash("sha256").update(whole).digest("hex"),
      });
    }),
  );
});

test("others have many turns while a large one is measured", async () => {
  const large = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, at]));
  let turns = 0;
  let over = false;
  const count = (): void => {
    turns += 1;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  await measureJson(large);
  over = true;
  expect(turns).toBeGreaterThan(10);
});
