import { describe, expect, test } from "vitest";
import { messagesIn, RESULT_TEXT } from "../../src/wire/envelope.js";
import { scanResponse } from "../../src/wire/json-scan.js";
import { readMessages } from "../../src/wire/message.js";
import fc from "../support/fast-check.js";

/** The text that is kept of the result of a response, however it came. */
function keptText(text: string): string | undefined {
  const { result } = scanResponse(text, 512);
  return result === undefined ? undefined : text.slice(result.start, result.end);
}

/** JSON text as any serializer may write it: white space anywhere, letters of strings and keys escaped. */
const space = fc.string({ unit: fc.constantFrom(" ", "\t", "\n", "\r"), maxLength: 2 });
const letter = (one: string) =>
  fc.boolean().map((escaped) => {
    const plain = JSON.stringify(one).slice(1, -1);
    return escaped && one.length === 1 ? `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}` : plain;
  });
const spelled = (text: string) =>
  fc.tuple(...[...text].map(letter)).map((letters) => `"${letters.join("")}"`);
const anyKey = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom("result", "id", "jsonrpc", "error", 'res"ult', "result\\", "}", "{", "[", ":"),
);
const key = anyKey.chain((name) => fc.oneof(fc.constant(JSON.stringify(name)), spelled(name)));
const { value, object } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    fc.constantFrom("0", "-1.5e+3", "true", "null", "[]", "{}", '""', '"\\\\"', '"\\\\\\""', '"}"', '"]"'),
    fc.string({ maxLength: 12 }).chain((text) => fc.oneof(fc.constant(JSON.stringify(text)), spelled(text))),
    fc
      .array(fc.tuple(space, tie("value"), space), { maxLength: 3 })
      .map((all) => `[${all.map((one) => one.join("")).join()}]`),
    tie("object"),
  ),
  object: fc
    .array(fc.tuple(space, key, space, fc.constant(":"), space, tie("value"), space), { maxLength: 4 })
    .map((members) => `{${members.map((one) => one.join("")).join()}}`),
}));
const document = fc.tuple(space, value, space).map((all) => all.join(""));

describe("the span of the result", () => {
  test("where there is one, it is the text of exactly what a parser reads there", () => {
    const members = fc.array(fc.tuple(key, value), { maxLength: 5 });
    const response = fc
      .tuple(members, fc.constantFrom('"result"', '"id"'), object, members)
      .map(
        ([before, name, own, after]) =>
          `{${[...before, [name, own], ...after].map((one) => one.join(":")).join()}}`,
      );
    let found = 0;
    fc.assert(
      fc.property(fc.oneof(document, response), (text) => {
        const parsed: unknown = JSON.parse(text);
        const kept = keptText(text);
        if (kept === undefined) return;
        found += 1;
        expect(JSON.parse(kept)).toEqual((parsed as { result: unknown }).result);
        expect(kept.startsWith("{") && kept.endsWith("}")).toBe(true);
        // Put into a frame of our own it adds nothing to it.
        expect(JSON.parse(`{"id":1,"result":${kept}}`)).toEqual({ id: 1, result: JSON.parse(kept) });
      }),
      { numRuns: 10_000 },
    );
    expect(found).toBeGreaterThan(50);
  });

  test.each([
    ["first", '{"result":{"a":1},"jsonrpc":"2.0","id":1}'],
    ["last", '{"jsonrpc":"2.0","id":1,"result":{"a":1}}'],
    ["in white space", '\n{ "id" : 1 ,\t"result" :\r\n {"a":1} }\n'],
    ["beside one that stands deeper", '{"x":{"result":{"b":2}},"result":{"a":1},"y":[{"result":{"c":3}}]}'],
    ["beside a string that looks like one", '{"x":"\\"result\\":{}","result":{"a":1}}'],
  ])("is found %s", (_, text) => {
    expect(keptText(text)).toBe('{"a":1}');
  });

  test.each([
    ["there is none", '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"result"}}'],
    ["two have the name", '{"result":{"a":1},"id":1,"result":{"a":2}}'],
    ["two have the name, one of them spelled with escapes", '{"result":{"a":1},"\\u0072esult":{"a":2}}'],
    ["it is spelled with escapes", '{"\\u0072esult":{"a":1}}'],
    ["it is no object", '{"result":[{"a":1}],"x":{}}'],
    ["it stands in a batch", '[{"result":{"a":1}}]'],
    ["it stands deeper", '{"x":{"result":{"a":1}}}'],
  ])("is not reported if %s", (_, text) => {
    expect(keptText(text)).toBeUndefined();
  });
});

describe("the text that is kept of a result", () => {
  const kept = (document: Buffer | string) => messagesIn(readMessages(document))[0]?.[RESULT_TEXT];
  const long = (character: string) => `{"text":"${character.repeat(5000)}"}`;
  const framed = (result: string) => `{"jsonrpc":"2.0","id":1,"result":${result}}`;

  test("is text where it is short, and bytes also where places in text and bytes differ", () => {
    expect(kept(Buffer.from(framed('{"a":"é"}')))).toBe('{"a":"é"}');
    expect(kept(Buffer.from(framed(long("é"))))).toEqual(Buffer.from(long("é")));
    expect(kept(Buffer.from(`\ufeff${framed(long("x"))}`))).toEqual(Buffer.from(long("x")));
  });

  test("is bytes where it is long", () => {
    expect(kept(Buffer.from(framed(long("x"))))).toEqual(Buffer.from(long("x")));
  });

  test("never has bytes that are no UTF-8, which a client might refuse", () => {
    const document = Buffer.from(framed(long("x")));
    document[100] = 0xff;
    expect(kept(document)).toContain("\ufffd");
  });
});
