/** How texts become terms: names in every case, scripts without spaces, and texts that are meant to hurt. */
import { describe, expect, test } from "vitest";
import { termsOf, wordsOf } from "../../../../src/features/tool-search/ranking/terms.js";
import fc from "../../../support/fast-check.js";

describe("the terms of", () => {
  test.each([
    ["create_issue", ["create", "issue"]],
    ["create-issue", ["create", "issue"]],
    ["math.createIssue", ["math", "create", "issue", "createissue"]],
    ["GitHub", ["git", "hub", "github"]],
    ["PDFReader", ["pdf", "reader", "pdfreader"]],
    ["parseHTML", ["parse", "html", "parsehtml"]],
    ["HTTP2Server", ["http2", "server", "http2server"]],
    ["base64", ["base64"]],
    ["Café ﬁle", ["cafe", "file"]],
    ["検索する", ["検索", "索す", "する"]],
    ["PDF検索v2", ["pdf", "検索", "v2"]],
    ["한국어", ["한국", "국어"]],
    ["図", ["図"]],
    ["Ärger über Straße", ["arger", "uber", "straße"]],
    ["", []],
    ["-- __ 👍", []],
  ])("%s", (text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });
});

test("terms are stems without stop words", () => {
  expect(termsOf("Please list the files of my repositories")).toEqual(["list", "file", "repositori"]);
});

test("a word is read up to 40 characters, and a text up to 2,048", () => {
  expect(wordsOf("x".repeat(3_000))).toEqual(["x".repeat(40)]);
  expect(wordsOf("ab ".repeat(3_000))).toHaveLength(683);
});

test("any text has terms, no more than it has characters after folding", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 3_000 }),
    fc.string({ unit: fc.constantFrom("a", "A", "_", "1", "検", "\u0301", "\ud800", "ﷺ"), maxLength: 3_000 }),
  );
  fc.assert(
    fc.property(text, (given) => {
      expect(termsOf(given).length).toBeLessThanOrEqual(2_048 * 2);
      expect(termsOf(given)).toEqual(termsOf(given, new Map()));
    }),
  );
});

test("no text is read further than its limits", () => {
  const hurting = ["aA", "A", "a_", "ss", "ation", "yyyy", "検", "e\u0301", "ﷺ"];
  for (const piece of hurting) {
    const words = wordsOf(piece.repeat(1_000_000));
    expect(words.length).toBeLessThanOrEqual(2_049);
    expect(words.every((word) => word.length <= 40)).toBe(true);
  }
});
