/** `WWW-Authenticate` with several challenges, quoted strings and token68 (RFC 9110, 11.6.1). */
import { describe, expect, test } from "vitest";
import { parseChallenges } from "../../../../src/features/sign-in/oauth/challenge.js";
import { bearerChallenge } from "../../../../src/features/sign-in/oauth/client.js";
import fc from "../../../support/fast-check.js";

describe("the Bearer challenge", () => {
  const URL = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
  test.each([
    [`Bearer resource_metadata="${URL}"`, { resourceMetadata: URL }],
    [`bearer Resource_Metadata="${URL}"`, { resourceMetadata: URL }],
    [`Bearer resource_metadata=${URL}`, { resourceMetadata: URL }],
    [`Bearer realm="a, Bearer scope=\\"x\\"", scope="read write"`, { scope: "read write" }],
    [
      `Bearer error="insufficient_scope", scope="a b", error_description="needs \\"b\\""`,
      { error: "insufficient_scope", scope: "a b", errorDescription: 'needs "b"' },
    ],
    [`Basic realm="x", Bearer scope="read", Digest nonce="n"`, { scope: "read" }],
    [`Negotiate, Bearer scope="read"`, { scope: "read" }],
    [`Negotiate YWJj==, Bearer scope="read"`, { scope: "read" }],
    [`Bearer scope="first", Bearer resource_metadata="${URL}"`, { resourceMetadata: URL }],
    [`Bearer scope="first", scope="second"`, { scope: "first" }],
    [`Bearer scope = "read"`, { scope: "read" }],
    ["Bearer", {}],
    ["Bearer, Basic realm=x", {}],
    [", ,Bearer scope=read,,", { scope: "read" }],
    [`DPoP algs="ES256", Bearer error=invalid_token`, { error: "invalid_token" }],
    [`Bearer scope="never closed`, {}],
    ['Basic realm="Bearer scope=x"', undefined],
    ["", undefined],
    [undefined, undefined],
  ])("of %s", (header, expected) => {
    expect(bearerChallenge(header)).toEqual(expected);
  });
});

const token = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,8}$/);
/** Everything that a quoted string may hold. */
const quotable = fc.string({ unit: fc.constantFrom(...' \t!",\\=abcBearerè') });
const quoted = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`;
const parameters = fc.uniqueArray(fc.tuple(token, quotable), {
  selector: ([name]) => name.toLowerCase(),
  maxLength: 4,
});
const challenge = fc.oneof(
  fc.record({ scheme: token, parameters }),
  fc.record({ scheme: token, token68: fc.stringMatching(/^[A-Za-z0-9+/]{1,12}={1,2}$/) }),
);
type Made = typeof challenge extends fc.Arbitrary<infer T> ? T : never;
const written = (one: Made): string =>
  "token68" in one
    ? `${one.scheme} ${one.token68}`
    : `${one.scheme} ${one.parameters.map(([name, value]) => `${name}=${quoted(value)}`).join(", ")}`.trim();

test("every serialized challenge is parsed again", () => {
  fc.assert(
    fc.property(fc.array(challenge, { minLength: 1, maxLength: 4 }), (made) => {
      const read = parseChallenges(made.map(written).join(", "));
      expect(read).toEqual(
        made.map((one) => ({
          scheme: one.scheme.toLowerCase(),
          ...("token68" in one && { token68: one.token68 }),
          parameters: new Map(
            "token68" in one ? [] : one.parameters.map(([name, value]) => [name.toLowerCase(), value]),
          ),
        })),
      );
    }),
  );
});

test("any text is parsed without an error", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'Bearer=",\\ \t;/+é\0'), maxLength: 200 }), (header) => {
      for (const { scheme } of parseChallenges(header)) expect(scheme).not.toBe("");
      bearerChallenge(header);
    }),
  );
});

test("a header of 64 KiB is parsed in linear time", () => {
  for (const piece of ['"', "\\", "a=", "a,", "a ", '"\\', "=,", " \t", 'a="\\"']) {
    expect(parseChallenges(`Bearer ${piece.repeat(65_536 / piece.length)}`).length).toBeGreaterThan(0);
  }
});
