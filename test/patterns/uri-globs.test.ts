import { describe, expect, test } from "vitest";
import { uriTest } from "../../src/patterns/globs.js";

const ALL = ["*"];

describe("a filter denies a URI in whatever way it is read", () => {
  test.each([
    ["file:///secret/*", "file:/secret/x"],
    ["file:///secret/*", "file:////secret/x"],
    ["file:///secret/*", "file:///pub/%2e%2e/secret/x"],
    ["file:///my docs/*", "file:///my%20docs/x"],
    ["file:///my%20docs/*", "file:///my docs/x"],
    ["file:///caf%C3%A9/*", "file:///café/x"],
    ["file:///café/*", "file:///caf%c3%a9/x"],
    ["file:/secret/*", "file:///secret/x"],
    ["file://localhost/secret/*", "file:///secret/x"],
    ["*.pem", "file:///keys/a.pem?x"],
    ["*/secret/*", "notes:\\\\host\\secret\\x"],
    ["notes://secret/*", "notes:///secret/x"],
    ["notes://{secret,hidden}/*", "NOTES://hidden/x"],
  ])("%s: %s", (pattern, uri) => {
    expect(uriTest({ allow: ALL, deny: [pattern] })(uri)).toBe(false);
  });

  test.each([
    ["file:///secret/*", "file:///pub/secret/x"],
    ["file:///secret/*", "file:///pub/a%20b?x=1#y"],
    ["db://admin@host/*", "db://ann@host/x"],
    ["file://server/share/*", "file:///share/x"],
    ["https://a.test/items?id=1*", "https://a.test/items?id=2"],
    ["https://a.test/items?id=1*", "https://a.test/items"],
    ["file:///Secret/*", "file:///secret/x"],
  ])("and nothing else: %s: %s", (pattern, uri) => {
    expect(uriTest({ allow: ALL, deny: [pattern] })(uri)).toBe(true);
  });
});

describe("a filter allows what is allowed in all of its readings", () => {
  test.each([
    ["file:///pub/*", "file:///pub/a.md"],
    ["file:///pub/*", "file:///pub/a%20b.md?line=1#x"],
    ["file:///pub/*", "file:///pub/sub/../a"],
    ["file:///pub/*", "file:///pub/100%"],
    ["file:///my%20docs/*", "file:///my%20docs/a"],
    ["file:///my docs/*", "file:///my docs/a"],
    ["file:///{path}", "file:///{path}"],
    ["file://server/share/*", "file://server/share/x"],
    ["db://user@host:5432/app/*", "db://user@host:5432/app/table/schema"],
    ["notes://Meeting/*", "notes://Meeting/1"],
    ["data://rows?limit=*", "data://rows?limit=10"],
    ["https://a.test/x?y#z", "https://a.test/x?y#z"],
    ["https://*.a.test/*", "https://docs.a.test/x"],
    ["memo:*", "memo:1"],
    ["memo:///pub/*", "memo:///pub/x"],
  ])("%s: %s", (pattern, uri) => {
    expect(uriTest({ allow: [pattern], deny: [] })(uri)).toBe(true);
  });

  test.each([
    ["file:///pub/*", "file:///pub/../secret/x"],
    ["file:///pub/*", "file:///pub/%2e%2e/secret/x"],
    ["file:///pub/*", "file:///pub/..%2fsecret%2fx%zz"],
    ["file:///pub/*", "file:///pub/a?/../../secret/x"],
    ["*/pub/*", "file://pub/secret"],
    ["*.md", "file:///secret/x?.md"],
    ["*.md", "file:///secret/x#.md"],
    ["*.md", "file:///secret/x%00.md"],
    ["https://good.test*", "https://good.test@evil.test/x"],
    ["notes://pub/*", "notes://pub/../secret"],
    ["data://rows?limit=*", "data://rows"],
  ])("and not what one of them leads out of it: %s: %s", (pattern, uri) => {
    expect(uriTest({ allow: [pattern], deny: [] })(uri)).toBe(false);
  });
});

test("a URI with more readings than the limit passes only an empty filter", () => {
  const uri = `file:///pub/${"%252e%c0%ae\\;//./".repeat(5_000)}`;
  expect(uriTest({ allow: ALL, deny: [] })(uri)).toBe(true);
  expect(uriTest({ allow: ALL, deny: ["x"] })(uri)).toBe(false);
  expect(uriTest({ allow: ["file:*"], deny: [] })(uri)).toBe(false);
});
