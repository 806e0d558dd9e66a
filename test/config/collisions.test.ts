import { expect, test } from "vitest";
import { uriPrefix as exposedPrefix } from "../../src/catalog/naming.js";
import { uriPrefix } from "../../src/config/collisions.js";
import fc from "../support/fast-check.js";

// The config layer must not import the catalog, so it spells prefixes itself, in the same way.
test("a prefix is spelled in URIs as the catalog spells it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (prefix) => {
      expect(uriPrefix(prefix)).toBe(exposedPrefix(prefix));
    }),
    { numRuns: 1_000, seed: 20_261_123 },
  );
});
