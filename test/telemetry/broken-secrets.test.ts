/** Secrets that are broken over lines, spelled with escapes, short, or where a text is cut, are in no output. */

import "../features/admin/needed.js";
import { describe, expect, test } from "vitest";
import { SILENT } from "../../src/core/logger.js";
import { redactedStart, shortText } from "../../src/core/short-text.js";
import { createGateway } from "../../src/gateway/gateway.js";
import { Redactor } from "../../src/telemetry/redact.js";
import { openedFeatures } from "../support/features.js";
import { configOf, listening } from "../support/gateway.js";
import { openModern } from "../support/peers/raw.js";
import { stepsOf } from "../support/steps.js";

const SECRET = "q7Xw-e9Rt5-yU3io-P1aS";
const redactor = new Redactor();
redactor.add([SECRET]);

describe("a known secret", () => {
  test.each<[string, string]>([
    ["a line break", "\n"],
    ["a line break and indentation", "\r\n    "],
    ["an escaped line break", "\\n"],
    ["a line break that was escaped twice", "\\\\r\\\\n"],
    ["a Unicode escape", "\\u000a"],
    ["an encoded line break", "%0D%0A"],
    ["a tab", "\t"],
    ["spaces", "   "],
    ["one space", " "],
  ])("is redacted where %s divides it, at any place", (_name, gap) => {
    for (let at = 1; at < SECRET.length; at++) {
      const shown = redactor.text(`it is ${SECRET.slice(0, at)}${gap}${SECRET.slice(at)}, they say`);
      expect([at, shown]).toEqual([at, "it is [redacted], they say"]);
    }
    const pieces = [SECRET.slice(0, 5), SECRET.slice(5, 9), SECRET.slice(9, 16), SECRET.slice(16)];
    expect(redactor.text(pieces.join(gap))).toBe("[redacted]");
  });

  test("is redacted in wrapped Base64", () => {
    const wrapped = Buffer.from(SECRET).toString("base64").replace(/.{8}/g, "$&\n");
    expect(redactor.text(wrapped)).not.toContain(wrapped.split("\n")[1]);
  });
});

describe("a token of a request", () => {
  test.each([
    ["Authorization: Bearer abc", "abc"],
    ["authorization: bearer a1b2", "a1b2"],
    ['{"Authorization":"Basic dTpw"}', "dTpw"],
    ['{\\"authorization\\": \\"Digest u1\\"}', "u1"],
    ["proxy-authorization=Token xyz9", "xyz9"],
    ["x+memo://Bearer%20abcdefgh1", "abcdefgh1"],
    ["memo://a?q=Bearer+abcdefghij", "abcdefghij"],
    ["said Bearer\\u0020abcdefghij here", "abcdefghij"],
    ["GET /x?token=hunter&b=1", "hunter"],
    ["GET /x?a=1&access_token=ab", "ab"],
    ["Cookie: sid=abc; theme=dark", "abc"],
    ["set-cookie: s=0x; Path=/", "0x"],
    ['"cookie":"a=bc"', "bc"],
    ["Bearer abcdefgh1234\n  ijklmnop5678", "ijklmnop5678"],
    ["token is ghp_abcdefghijklmnop1\nqrstuvwx23", "qrstuvwx23"],
  ])("is redacted in %j", (text, secret) => {
    expect(redactor.text(text)).not.toContain(secret);
    expect(redactor.text(text)).toContain("[redacted]");
  });

  test.each([
    "the bearer token is missing",
    "authorization: required",
    "Authorization header expected",
    "token: expired",
    "cookies are not used",
    "a Bearer token\nat line 12345678",
  ])("is not seen in %j", (text) => {
    expect(redactor.text(text)).toBe(text);
  });
});

describe("a text that is cut", () => {
  test("has no beginning of a secret at its end, wherever it is cut", () => {
    const token = `ghp_${"a1B2".repeat(9)}`;
    for (const secret of [token, SECRET]) {
      for (let at = 150; at <= 200; at++) {
        const text = `memo://${"a/".repeat(100).slice(0, at - 8)} ${secret} and more ${"x ".repeat(100)}`;
        for (const shown of [
          redactor.text(shortText(text, 200)),
          redactedStart((given) => redactor.text(given), text, 200),
        ]) {
          expect(shown.length).toBeLessThanOrEqual(200);
          for (let from = 0; from + 6 <= secret.length; from++) {
            expect(shown).not.toContain(secret.slice(from, from + 6));
          }
        }
      }
    }
  });

  test("is whole up to its limit", () => {
    expect(shortText("a".repeat(200), 200)).toBe("a".repeat(200));
    expect(shortText(`${"a ".repeat(150)}`, 200)).toHaveLength(200);
  });
});

test("redaction takes steps linear in the text, whatever it repeats", () => {
  for (const piece of [
    " ",
    "\\",
    "\n",
    "Bearer ",
    "cookie: a=",
    "authorization: bearer ",
    SECRET.slice(0, 8),
    "%0a",
  ]) {
    const of = (length: number) => stepsOf(() => redactor.text(piece.repeat(length / piece.length)));
    expect(of(40_000)).toBeLessThan(12 * Math.max(of(8_000), 1_000));
  }
});

test("the page of the last calls has no token of a target, cut or whole", async () => {
  const config = configOf({ mcpServers: {} });
  const gateway = createGateway(config, {
    features: await openedFeatures(config),
    ...{ logger: SILENT, version: "1", redact: (text: string) => redactor.text(text) },
  });
  const { url, adminUrl } = await listening(gateway);
  const host = await openModern({ url });
  const token = `ghp_${"a1B2".repeat(9)}`;
  const names = [
    `Bearer ${"z9".repeat(6)}`,
    `Bearer%20${"z9".repeat(6)}`,
    `x?token=${"zzzz".repeat(3)}`,
    `${"word ".repeat(38)} ${token}`,
    `${SECRET.slice(0, 9)}\n ${SECRET.slice(9)}`,
  ];
  for (const name of names) await host.request("tools/call", { name, arguments: {} });
  const page = await (await fetch(`${adminUrl}/api/v1/calls`)).text();
  expect((JSON.parse(page) as unknown[]).length).toBeGreaterThanOrEqual(names.length);
  for (const part of ["z9z9", "zzzz", "ghp_", SECRET.slice(0, 9), SECRET.slice(9)])
    expect(page).not.toContain(part);
  await host.close();
  await gateway.stop({ immediate: true });
});
