import { describe, expect, test } from "vitest";
import { decodings } from "../../src/core/uri-parts.js";
import { hasSingleReading, readingsOf } from "../../src/core/uri-readings.js";
import fc from "../support/fast-check.js";
import { stepsOf } from "../support/steps.js";
import { fileUris, webUris } from "../support/uri-requests.js";

const SECRET = "files+file:///secret/x";

describe("a URI that is written oddly has the reading that is written plainly", () => {
  test.each([
    "files+file:/secret/x",
    "files+file:secret/x",
    "files+file:////secret/x",
    "files+file:///////secret////x",
    "files+file://localhost/secret/x",
    "files+file://LocalHost/secret/x",
    "files+file://127.0.0.1/secret/x",
    "files+file://user@host:80/secret/x",
    "files+file://secret/x",
    "files+FILE:///secret/x",
    "files+ file:///secret/x ",
    "files+\tfi\nle:///sec\rret/x",
    "files+file:\\\\\\secret\\x",
    "files+file:///pub\\..\\secret\\x",
    "files+file:///%73ecret/x",
    "files+file:///%2573ecret/x",
    "files+file:///%25252573ecret/x",
    "files+file:///secret%2fx",
    "files+file:///secret%5Cx",
    "files+file:///%zz/../%73ecret/x",
    "files+file:///pub/%/%2e%2e/../secret/x",
    "files+file:///pub/../secret/x",
    "files+file:///pub/%2e%2e/secret/x",
    "files+file:///pub/.%2E/secret/x",
    "files+file:///pub/%2e%2e%2fsecret/x",
    "files+file:///pub/%252e%252e%252fsecret/x",
    "files+file:///pub//../../secret/x",
    "files+file:///./secret/./x",
    "files+file:///../../secret/x",
    "files+file:///pub/%c0%ae%c0%ae/secret/x",
    "files+file:///%ffsecret/x",
    "files+file:///%u0073ecret/x",
    "files+file:///secret/x?query",
    "files+file:///secret/x#fragment",
    "files+file:///secret/x%3fquery",
    "files+file:///secret/x%00.md",
    "files+file:///secret/x\0.md",
    "files+file:///secret/x.",
    "files+file:///pub/a?/../../secret/x",
    "files+%66ile:///secret/x",
    "files+file://pub/..//etc//passwd#//..//..//secret//x",
    "a+b+file:/secret/x",
  ])("%j", (uri) => {
    const plain = uri.startsWith("a+b+") ? "a+b+file:///secret/x" : SECRET;
    expect(readingsOf(uri).all).toContain(plain);
    expect(readingsOf(uri).all[0]).toBe(uri);
  });

  test.each([
    ["http://EVIL.test/x", "http://evil.test/x"],
    ["http://evil.test:80/x", "http://evil.test/x"],
    ["https://evil.test:443/x", "https://evil.test/x"],
    ["http://evil.test./x", "http://evil.test/x"],
    ["http://good.test@evil.test/x", "http://evil.test/x"],
    ["http://good.test\\@evil.test/x", "http://evil.test/x"],
    ["http:\\\\evil.test\\x", "http://evil.test/x"],
    ["http:/evil.test/x", "http://evil.test/x"],
    ["http:evil.test/x", "http://evil.test/x"],
    ["http://ｅｖｉｌ.test/x", "http://evil.test/x"],
    ["http://evil。test/x", "http://evil.test/x"],
    ["http://%65vil.test/x", "http://evil.test/x"],
    ["http://0x7f.1/x", "http://127.0.0.1/x"],
    ["http://2130706433/x", "http://127.0.0.1/x"],
    ["http://good.test/pub/..;a=1/secret", "http://good.test/secret"],
    ["web+ht\ntp://evil.test/x", "http://evil.test/x"],
    ["web+ ui://page", "ui://web/page"],
    ["ui://S/host/../page", "ui://S/host/page"],
    ["notes://pub/../secret", "notes://secret"],
    ["web+http://evil.test/x", "http://evil.test/x"],
    ["web+ui://page/x", "ui://web/page/x"],
    ["ui://web/user@page:1/x", "ui://web/page/x"],
    ["notes://rows:1/x", "notes://rows/x"],
    ["sftp://host/key.pem;type=a", "sftp://host/key.pem"],
    ["files+file:////machine/secret/x", "files+file://machine/secret/x"],
    ["files+file:///%5C%5Cmachine/secret/x", "files+file://machine/secret/x"],
  ])("%j: %s", (uri, plain) => {
    expect(readingsOf(uri).all).toContain(plain);
  });

  test.each([
    ["notes://MEETING/1", "notes://meeting/1"],
    ["notes:///meeting/1", "notes://meeting/1"],
    ["notes:meeting/1", "notes://meeting/1"],
    ["files+/secret/x", SECRET],
    ["files+//secret/x", SECRET],
    ["files+/pub/../secret/x", SECRET],
    ["files+secret%2fx", SECRET],
    ["files+URL:file:///secret/x", SECRET],
    ["files+<file:///pub/../secret/x>", SECRET],
    ["files+file:///pub/．．/secret/x", SECRET],
    ["files+file:///%EF%BD%93ecret/x", SECRET],
    ["files+file:///cafe\u0301/x", "files+file:///caf\u00e9/x"],
    ["files+file:///c:/secret/x", "files+file:///C:/secret/x"],
    ["files+file:///C:/secret/x", "files+file:///c:/secret/x"],
    ["files+file:////%3F/C:/secret/x", "files+file:///c:/secret/x"],
    ["files+file:///secret/x/", SECRET],
    ["https://evil.test", "https://evil.test/"],
    ["files+file:///my docs/x", "files+file:///my%20docs/x"],
  ])("as far as restrictions go: %j: %s", (uri, plain) => {
    const { all, alike } = readingsOf(uri);
    expect(all).not.toContain(plain);
    expect(alike).toContain(plain);
  });
});

describe("a URI without any of that", () => {
  test.each([
    "files+file:///srv/data/report-2024_a.txt",
    "file:///home/ann/.config/app.json",
    "https://example.com/items/5",
    "notes://meeting/1",
    "ui://files/page.html",
    "git+ssh://host/path",
    "files+ftp://host/path",
    "a+b+file:///x",
  ])("has one reading, recognised by its form: %s", (uri) => {
    expect(hasSingleReading(uri)).toBe(true);
    expect(readingsOf(uri)).toEqual({ all: [uri], alike: [], complete: true });
  });

  test("has one reading, whatever is found out by taking it apart", () => {
    const word = fc.stringMatching(/^[A-Za-z0-9_~!$&'()*,=:@.-]{1,8}$/);
    const uri = fc
      .tuple(fc.constantFrom("file://", "files+file://", "x://host", "https://a.test"), fc.array(word))
      .map(([start, words]) => [start, ...words].join("/"));
    fc.assert(
      fc.property(uri, (given) => {
        // The query keeps it from being known by its looks.
        const taken = readingsOf(`${given}?`);
        if (hasSingleReading(given)) expect([...taken.all].sort()).toEqual([given, `${given}?`]);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("the readings", () => {
  const uris = fc.oneof(fileUris, webUris, fc.string({ unit: "binary", maxLength: 60 }));

  test("are closed: what is made of a reading was found before", () => {
    fc.assert(
      fc.property(uris, (uri) => {
        const { all, complete } = readingsOf(uri);
        fc.pre(complete);
        for (const reading of all.slice(0, 5))
          expect(all).toEqual(expect.arrayContaining([...readingsOf(reading).all]));
      }),
      { numRuns: 500 },
    );
  });

  test("are bounded in number, size and work, and say when they are", () => {
    const odd = "/%25252e%2e%c0%ae\\..;a/.//%zz%u0041/x?#\0 ";
    for (const times of [1, 10, 100, 1_000, 20_000]) {
      const uri = `files+FILE://u@Host.:80${odd.repeat(times)}`;
      const steps = stepsOf(() => {
        const { all, complete } = readingsOf(uri);
        expect(all.length).toBeLessThanOrEqual(64);
        expect(all.join("").length).toBeLessThanOrEqual(Math.max(65_536, uri.length));
        expect(complete).toBe(false);
      });
      expect(steps).toBeLessThan(200_000);
    }
  });
});

test.each([
  ["%41", ["A"]],
  ["%zz%4", ["%zz%4"]],
  ["%c3%a9", ["é"]],
  ["%e9", ["\uFFFD", "", "\uFFFD", "é"]],
  ["%c0%af", ["\uFFFD\uFFFD", "", "/", "À¯"]],
  ["%e0%80%af", ["\uFFFD\uFFFD\uFFFD", "", "/", "à\u0080¯"]],
  ["%u0041", ["%u0041", "A"]],
  ["plain", []],
])("%s is decoded to %j", (text, decoded) => {
  expect(decodings(text)).toEqual(decoded);
});
