import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Payload } from "../../src/wire/payload.js";

const forms = (text: string) => [Payload.ofText(text), Payload.ofText(Buffer.from(text))];

describe("whether a marker may stand in a payload", () => {
  test.each([
    ["it does", '{"a":{"isError":true}}', true],
    ["it does not", '{"content":[]}', false],
    ["a letter of it is escaped", '{"is\\u0045rror":true}', true],
    ["all letters of it are escaped", '{"\\u0069\\u0073\\u0045\\u0072\\u0072\\u006f\\u0072":true}', true],
    ["only other characters are escaped", '{"html":"\\u003cb\\u003e\\u0026"}', false],
  ])("%s", (_what, text, expected) => {
    for (const payload of forms(text)) expect(payload.mayContain('"isError"')).toBe(expected);
  });

  test("where only the object is there, looking is as cheap as searching", () => {
    expect(Payload.ofObject({}).mayContain('"isError"')).toBe(true);
  });

  test("a payload that was parsed is still searched as the text it came as", () => {
    const [payload] = forms('{"content":[]}');
    expect(payload?.object).toEqual({ content: [] });
    expect(payload?.mayContain('"isError"')).toBe(false);
  });

  test("false is certain, however its key is written", () => {
    const spelled = fc.tuple(
      ..."isError".split("").map((letter) => fc.boolean().map((escaped) => spell(letter, escaped))),
    );
    fc.assert(
      fc.property(spelled, fc.string(), (letters, around) => {
        const text = `{${JSON.stringify(around)}:1,"${letters.join("")}":true}`;
        expect(JSON.parse(text)).toHaveProperty("isError", true);
        for (const payload of forms(text)) expect(payload.mayContain('"isError"')).toBe(true);
      }),
    );
  });
});

const spell = (letter: string, escaped: boolean): string =>
  escaped ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}` : letter;

test("text and object are each made from the other once", () => {
  const made = Payload.ofObject({ a: 1 });
  expect(made.text).toBe('{"a":1}');
  expect(made.object).toBe(made.object);
  const bytes = Buffer.from('{"a":1}');
  expect(Payload.ofText(bytes).text).toBe(bytes);
  expect(Payload.ofText(bytes).object).toEqual({ a: 1 });
  expect(() => Payload.ofText("[]").object).toThrow(TypeError);
});
