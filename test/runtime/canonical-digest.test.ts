/** Whether a digest made in turns is that of the whole text. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { canonicalDigest } from "../../src/runtime/canonical-digest.js";
import { ExactNumber } from "../../src/wire/json.js";
import { canonicalText } from "../../src/wire/json-text.js";
import fc from "../support/fast-check.js";

const whole = (value: unknown): string => createHash("sha256").update(canonicalText(value)).digest("base64");

test("it is the digest of the canonical text", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(canonicalDigest(value)).toBe(whole(value));
    }),
  );
  const exact = { b: [new ExactNumber("1.0"), { "": null }], a: new ExactNumber("1e400"), __proto__: 1 };
  expect(canonicalDigest(exact)).toBe(whole(exact));
});

test("of a large value it comes in turns, and is the same in whatever order the keys came", async () => {
  const names = Array.from({ length: 5_000 }, (_, at) => `k${at}`);
  const object = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, [key, { a: 1 }]]));
  const digest = canonicalDigest(object(names));
  expect(digest).toBeInstanceOf(Promise);
  expect(await digest).toBe(whole(object(names)));
  expect(await canonicalDigest(object(names.toReversed()))).toBe(await digest);
});

test("of an object of very many members it is the same in whatever order they came", async () => {
  const names = Array.from({ length: 20_000 }, (_, at) => `${(at * 7919) % 20_011}`);
  const object = (prefix: string) => Object.fromEntries(names.map((name) => [prefix + name, 1]));
  expect(await canonicalDigest(object("k"))).toBe(whole(object("k")));
  expect(await canonicalDigest(object(""))).toBe(whole(object("")));
});
