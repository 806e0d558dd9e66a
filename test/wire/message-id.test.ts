import { describe, expect, test } from "vitest";
import { FrameError, idKey, parseDocument } from "../../src/wire/envelope.js";
import { parseJson, writeJson } from "../../src/wire/json-text.js";

const request = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;

describe("the id of a request", () => {
  test.each([
    "9007199254740993",
    "-123456789012345678901234567890",
    "1e400",
    "7.0",
    "1E2",
    "-0",
    '"x"',
    "150e-1",
  ])("may be %s, and is kept as it was written", (id) => {
    const document = parseDocument(request(id));
    expect(writeJson(document)).toBe(request(id));
  });

  // Only a string or an integer is one (basic/index, "Requests"); integers with too many digits are none.
  test.each([
    "1.5",
    "9007199254740993.5",
    "1e-1",
    "1e99999999",
    `1${"0".repeat(1000)}`,
    "null",
    "[]",
    "true",
  ])("is refused where it is %s", (id) => {
    expect(() => parseDocument(request(id))).toThrow(
      new FrameError(-32600, '"id" must be a string or an integer'),
    );
  });
});

test("ids are equal where they are worth the same, and strings are no numbers", () => {
  const key = (text: string) => idKey(parseJson(text));
  expect(key("7.0")).toBe(7);
  expect(key("-0")).toBe(0);
  expect(key("1e3")).toBe(1000);
  expect(key("9007199254740993.0")).toBe(key("9007199254740993"));
  expect(key("9007199254740992.0")).toBe(key("9007199254740992"));
  expect(key("9007199254740992")).not.toBe(key("9007199254740993"));
  expect(key('"9007199254740993"')).not.toBe(key("9007199254740993"));
  expect(new Set([key("1e400"), key("10e399"), key("1E401")]).size).toBe(2);
});

test("a response brings back an id of the gateway's own, however its server writes numbers", () => {
  expect(parseDocument('{"jsonrpc":"2.0","id":5.0,"result":{"n":5.0}}')).toMatchObject({ id: 5 });
});
