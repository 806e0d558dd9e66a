/** What was given to a browser comes back unchanged, or not at all. */
import { expect, test } from "vitest";
import { Sealing } from "../../../src/features/authorization-server/sealing.js";
import fc from "../../support/fast-check.js";

const sealing = new Sealing(Buffer.alloc(32, 7));
const uses = fc.constantFrom("registration" as const, "consent" as const, "login" as const);

test("a sealed value opens only for its own use and its own server", () => {
  fc.assert(
    fc.property(fc.jsonValue(), uses, uses, (value, use, other) => {
      const sealed = sealing.seal(use, { value });
      const expected: unknown = JSON.parse(JSON.stringify({ value }));
      expect(sealing.open(use, sealed)).toEqual(expected);
      expect(sealing.open(other, sealed)).toEqual(use === other ? expected : undefined);
      expect(new Sealing(Buffer.alloc(32, 8)).open(use, sealed)).toBeUndefined();
    }),
  );
});

test("an edited text never opens", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(), fc.integer({ min: 1, max: 255 }), (value, at, flip) => {
      const bytes = Buffer.from(sealing.seal("login", value), "base64url");
      const place = at % bytes.length;
      bytes[place] = (bytes[place] ?? 0) ^ flip;
      expect(sealing.open("login", bytes.toString("base64url"))).toBeUndefined();
    }),
  );
});

test("any other text does not open, and is no error", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(sealing.open("consent", text)).toBeUndefined();
    }),
  );
});
