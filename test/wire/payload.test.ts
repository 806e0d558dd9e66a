import { describe, expect, test } from "vitest";
import { RESULT_TEXT } from "../../src/wire/envelope.js";
import { Payload, RESULT_TYPE_COMPLETE } from "../../src/wire/payload.js";
import fc from "../support/fast-check.js";

const forms = (text: string) => [Payload.ofText(text), Payload.ofText(Buffer.from(text))];

describe("whether a payload may contain a marker", () => {
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
  expect(Payload.ofText(bytes).text).toEqual(bytes);
  expect(Payload.ofText(bytes).object).toEqual({ a: 1 });
});

describe("without its first member", () => {
  const response = (text: string, kept: string | Buffer) =>
    Payload.ofResponse({ jsonrpc: "2.0", id: 1, result: JSON.parse(text), [RESULT_TEXT]: kept });
  const shorter = (text: string) =>
    [text, Buffer.from(text)].map((kept) => response(text, kept).withoutFirst(RESULT_TYPE_COMPLETE));

  test.each([
    ['{"resultType":"complete","content":[]}', '{"content":[]}'],
    ['{"resultType":"complete", "content":[]}', '{ "content":[]}'],
    // The last one counts, and says the same.
    ['{"resultType":"complete","resultType":"complete","a":1}', '{"resultType":"complete","a":1}'],
    // Written in another way, last, alone, another value, and another one that counts.
    ['{"resultType": "complete","content":[]}', undefined],
    ['{"content":[],"resultType":"complete"}', undefined],
    ['{"resultType":"complete"}', undefined],
    ['{"resultType":"task","content":[]}', undefined],
    ['{"resultType":"complete","a":1,"resultType":"task"}', undefined],
    ['{"resultType":"complete","a":1,"\\u0072esultType":"task"}', undefined],
  ])("%s becomes %s", (text, expected) => {
    expect(shorter(text).map((payload) => payload?.text.toString())).toEqual([expected, expected]);
  });

  test("the object lacks it too", () => {
    for (const payload of shorter('{"resultType":"complete","a":1}')) {
      expect(payload?.mayHave("resultType")).toBe(false);
      expect(payload?.mayHave("a")).toBe(true);
      expect(payload?.parsed).toEqual({ a: 1 });
      expect(payload?.object).toBe(payload?.object);
    }
  });

  test("the payload it was made from still has it", () => {
    const whole = response('{"resultType":"complete","a":1}', '{"resultType":"complete","a":1}');
    expect(whole.withoutFirst(RESULT_TYPE_COMPLETE)?.object).toEqual({ a: 1 });
    expect(whole.object).toEqual({ resultType: "complete", a: 1 });
  });

  test("where it was not parsed the last one is unknown", () => {
    expect(
      Payload.ofText('{"resultType":"complete","a":1}').withoutFirst(RESULT_TYPE_COMPLETE),
    ).toBeUndefined();
  });
});

test("whether it may have a member is certain where it is parsed, also of one spelled with escapes", () => {
  const [payload] = forms('{"\\u0061":{"b":1}}');
  expect([payload?.mayHave("a"), payload?.mayHave("b"), payload?.mayHave("c")]).toEqual([true, true, false]);
  expect(payload?.object).toEqual({ a: { b: 1 } });
  expect([payload?.mayHave("a"), payload?.mayHave("b"), payload?.mayHave("c")]).toEqual([true, false, false]);
});

test("a long text is searched once for each marker", () => {
  const text = Buffer.from(`{"text":"${"x".repeat(5000)}"}`);
  const payload = Payload.ofText(text);
  expect(payload.mayContain('"isError"')).toBe(false);
  text.write('"isError"', 20);
  expect(payload.mayContain('"isError"')).toBe(false);
  expect(payload.mayContain('"text"')).toBe(true);
});
