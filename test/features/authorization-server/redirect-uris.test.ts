/** Which redirect URI counts as registered: the same text, except the port of a loopback address. */
import { describe, expect, test } from "vitest";
import { isRegistered, readRedirectUris } from "../../../src/features/authorization-server/redirect-uris.js";
import fc from "../../support/fast-check.js";

const port = fc.integer({ min: 1, max: 65_535 });
const path = fc
  .array(fc.stringMatching(/^[a-z0-9_~-][a-z0-9._~-]{0,7}$/), { maxLength: 3 })
  .map((parts) => `/${parts.join("/")}`);
const loopback = fc.constantFrom("127.0.0.1", "localhost", "[::1]");

describe("a redirect URI", () => {
  test("on loopback matches every port, and no other host or path", () => {
    fc.assert(
      fc.property(loopback, port, port, path, path, (host, one, two, own, other) => {
        const registered = [`http://${host}:${one}${own}`];
        expect(isRegistered(`http://${host}:${two}${own}`, registered)).toBe(true);
        expect(isRegistered(`http://${host}${own}`, registered)).toBe(true);
        expect(isRegistered(`http://${host}:${two}${other}`, registered)).toBe(own === other);
        expect(isRegistered(`https://${host}:${two}${own}`, registered)).toBe(false);
        expect(isRegistered(`http://${host}.evil.example:${two}${own}`, registered)).toBe(false);
        expect(isRegistered(`http://${host}:${two}@evil.example${own}`, registered)).toBe(false);
        expect(isRegistered(`http://evil.example${own}`, registered)).toBe(false);
      }),
    );
  });

  test("of a website matches only as the same text", () => {
    fc.assert(
      fc.property(path, port, fc.constantFrom("?", "/", "#", "%2e", ":443", " ", "\t"), (own, at, more) => {
        const uri = `https://host.example${own}`;
        expect(isRegistered(uri, [uri])).toBe(true);
        expect(isRegistered(`${uri}${more}`, [uri])).toBe(false);
        expect(isRegistered(`https://host.example:${at}${own}`, [uri])).toBe(false);
      }),
    );
  });

  test("is parsed alike by browsers and by this program: any text is refused or unchanged", () => {
    fc.assert(
      fc.property(fc.oneof(fc.webUrl(), fc.string({ unit: "binary" }), fc.webPath()), (text) => {
        let kept: readonly string[] = [];
        try {
          kept = readRedirectUris([text], {}).usable;
        } catch {
          return;
        }
        expect(kept).toEqual([text]);
        expect(text).toMatch(/^(https:|http:\/\/(localhost|127\.|\[::1\]))/i);
        expect(new URL(text).hash).toBe("");
      }),
    );
  });
});
