import { describe, expect, test } from "vitest";
import {
  couldExpandTo,
  isSubResource,
  isWebAddress,
  uriNamespace,
  uriPrefix,
} from "../../src/catalog/naming.js";
import fc from "../support/fast-check.js";

const scheme = fc.constantFrom(
  "file:",
  "ui:",
  "UI:",
  "skill:",
  "http:",
  "HTTPS:",
  "s+x:",
  "s+ui:",
  "",
  "a/b:",
);
const rest = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 30 }),
  fc.constantFrom("//s/x", "//s/", "s/x", "///s/x", "//{+path}", "//x/{id}{?q*}", "{+all}", "//x\ny"),
);
const uri = fc.tuple(scheme, rest).map(([a, b]) => a + b);
const prefix = fc.oneof(
  fc.constantFrom("s", "files", "My Server", "http", "ui", "é", "a+b"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
);

describe("a URI of a server with a prefix", () => {
  test.each([
    ["file:///x/y", "s+file:///x/y"],
    ["test://template/{id}/data", "s+test://template/{id}/data"],
    ["file:///{+path}", "s+file:///{+path}"],
    ["{scheme}://x", "s+{scheme}://x"],
    ["ui://chart/index.html", "ui://s/chart/index.html"],
    ["ui:chart", "ui:s/chart"],
    ["skill://pdf/SKILL.md", "skill://s/pdf/SKILL.md"],
    ["https://example.com/a", "https://example.com/a"],
    ["http://example.com/{id}", "http://example.com/{id}"],
    ["", "s+"],
  ])("%j is shown as %j", (own, exposed) => {
    expect(uriNamespace("s")?.expose(own)).toBe(exposed);
  });

  test("comes back as it was, for any URI and prefix, without a table", () => {
    fc.assert(
      fc.property(prefix, uri, (name, own) => {
        const space = uriNamespace(name);
        const exposed = space?.expose(own) ?? "";
        if (isWebAddress(own)) expect(exposed).toBe(own);
        else expect(space?.reveal(exposed)).toBe(own);
      }),
      { seed: 20261120, numRuns: 5_000 },
    );
  });

  test("is never taken for another server's", () => {
    fc.assert(
      fc.property(prefix, prefix, uri, (one, other, own) => {
        fc.pre(uriPrefix(one) !== uriPrefix(other));
        expect(uriNamespace(other)?.reveal(uriNamespace(one)?.expose(own) ?? "")).toBeUndefined();
      }),
      { seed: 20261120, numRuns: 5_000 },
    );
  });

  test("made from an exposed template is the exposed form of one made from the server's own", () => {
    const expand = (template: string, value: string) => template.replaceAll("{+path}", () => value);
    fc.assert(
      fc.property(
        prefix,
        fc.constantFrom("file:///{+path}", "ui://{+path}", "{+path}"),
        uri,
        (name, own, value) => {
          const space = uriNamespace(name);
          fc.pre(!isWebAddress(expand(own, value)) && !/^(ui|skill):/i.test(value));
          expect(space?.reveal(expand(space.expose(own), value))).toBe(expand(own, value));
        },
      ),
      { seed: 20261120, numRuns: 2_000 },
    );
  });
});

test("a server without a prefix has no URI space: its URIs stay as they are", () => {
  expect(uriNamespace("")).toBeUndefined();
});

test("a prefix in a URI is lower-case, with a dash for what a scheme cannot hold", () => {
  expect(uriPrefix("My Server.2")).toBe("my-server-2");
  expect(uriPrefix("naïve😀")).toBe("na-ve-");
});

test.each([
  ["test://a", "test://a", true],
  ["test://a/b", "test://a", true],
  ["test://a/b", "test://a/", true],
  ["test://a?x=1", "test://a", true],
  ["test://ab", "test://a", false],
  ["test://", "test://a", false],
])("%j lies within %j: %s", (inner, whole, expected) => {
  expect(isSubResource(inner, whole)).toBe(expected);
});

test.each([
  ["test://template/{id}/data", "test://template/7/data", true],
  ["test://template/{id}/data", "test://template/data", false],
  ["test://template/{id}/data", "test://template//data", true],
  ["file:///{+path}", "file:///a/b/c", true],
  ["file:///{+path}", "files:///a", false],
  ["x://{a}-{b}-{c}", "x://1-2", false],
  ["x://{a}-{b}-{c}", "x://1-2-3-4", true],
  ["x://fixed", "x://fixed", true],
  ["x://fixed", "x://fixed2", false],
  ["x://{a}/x", "x:///x", true],
  ["ab{x}ba", "aba", false],
])("the template %j could make %j: %s", (template, made, expected) => {
  expect(couldExpandTo(template, made)).toBe(expected);
});
