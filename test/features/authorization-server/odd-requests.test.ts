/** What strangers send: odd registrations, redirect URIs that parsers read differently, names that cannot be read, any bytes. */
import { describe, expect, test } from "vitest";
import fc from "../../support/fast-check.js";
import {
  authorizeUrl,
  Browser,
  hostId,
  postForm,
  REDIRECT,
  registerHost,
  startWorld,
  tokenRequest,
} from "./support.js";

describe("a redirect URI", () => {
  test.each([
    ...[
      "https:evil.example/cb",
      "https:/evil.example/cb",
      "https:///evil.example/cb",
      "https:\\\\evil.example/cb",
    ],
    ...[
      "HTTPS://evil.example/cb",
      "HTTPS://a@evil.example/cb",
      "https://@evil.example/cb",
      "https://:@evil.example/cb",
    ],
    ...[
      "https://evil.example./cb",
      "https://evil..example/cb",
      "https://evil.example:443/cb",
      "https://evil.example:/cb",
    ],
    ...[
      "https://EVIL.example/cb",
      "https://evil.example/a/../cb",
      "https://evil.example/%2e%2e/cb",
      "ht\ttps://evil.example/",
    ],
    ...[
      "https://evil.example/\ncb",
      " https://evil.example/cb",
      "https://evil.example/c\u200bb",
      "https://ｅvil.example/cb",
    ],
    ...[
      "http://127.1/cb",
      "http://0x7f000001/cb",
      "http://2130706433/cb",
      "http://localhost./cb",
      "http:127.0.0.1/cb",
    ],
    ...[
      "http://[::ffff:127.0.0.1]/cb",
      "https://evil.example\\@good.example/cb",
      "file:///etc/passwd",
      "file:",
      "blob:https://a.example/x",
    ],
    ...[
      "data:text/html,x",
      "javascript:alert(1)",
      "vbscript:x",
      "about:blank",
      "mailto:a@b.example",
      "//evil.example/cb",
      "ws://a.example/cb",
    ],
  ])("%j is refused with the reason, and beside a usable one it is left out", async (uri) => {
    const one = await startWorld({ signIn: { redirectSchemes: ["cursor"] } });
    const { status, body } = await registerHost(one, { redirect_uris: [uri] });
    expect({ status, error: body.error }).toEqual({ status: 400, error: "invalid_redirect_uri" });
    expect(body.error_description).toMatch(/^a redirect URI /);
    const both = await registerHost(one, { redirect_uris: [REDIRECT, uri] });
    expect(both.body.redirect_uris).toEqual([REDIRECT]);
    const asked = authorizeUrl(one, { client_id: String(both.body.client_id), redirect_uri: uri });
    expect(await new Browser().open(asked)).toMatchObject({ status: 400, location: undefined });
  });

  test.each([
    ...[
      "https://claude.ai/api/mcp/auth_callback",
      "https://a.example",
      "https://a.example?x=1",
      "https://a.example:8443/cb",
    ],
    ...[
      "http://127.0.0.1:33418/",
      "http://localhost/callback",
      "http://[::1]:7777/cb",
      "https://xn--bcher-kva.example/cb",
    ],
  ])("%s of an honest host is registered unchanged", async (uri) => {
    const { status, body } = await registerHost(await startWorld(), { redirect_uris: [uri] });
    expect({ status, uris: body.redirect_uris }).toEqual({ status: 201, uris: [uri] });
  });
});

describe("a registration", () => {
  test.each([
    ...[
      { client_uri: "file:///etc/passwd" },
      { jwks_uri: "data:application/json,{}" },
      { logo_uri: "javascript:alert(1)" },
    ],
    ...[
      { tos_uri: "blob:https://a.example/x" },
      { policy_uri: "https:evil.example" },
      { client_uri: "https://u@evil.example" },
    ],
    ...[
      { client_uri: 7 },
      { client_name: {} },
      { client_name: ["a"] },
      { grant_types: "authorization_code" },
      { grant_types: [1] },
    ],
    ...[
      { response_types: {} },
      { contacts: [null] },
      { jwks: "x" },
      { scope: ["a"] },
      { software_id: { toString: 1 } },
    ],
  ])("with %j is refused with the member", async (metadata) => {
    const { status, body } = await registerHost(await startWorld(), metadata);
    expect({ status, error: body.error }).toEqual({ status: 400, error: "invalid_client_metadata" });
    expect(body.error_description).toContain(Object.keys(metadata)[0] ?? "?");
  });

  test("with null or empty members that are optional is accepted, as hosts send them", async () => {
    const metadata = {
      client_uri: "",
      logo_uri: null,
      scope: null,
      contacts: null,
      jwks: null,
      software_id: "x",
    };
    expect((await registerHost(await startWorld(), metadata)).status).toBe(201);
  });

  test("is one text: the same with other characters in it is unknown", async () => {
    const one = await startWorld();
    const own = await hostId(one);
    for (const client_id of [
      `${own}=`,
      `${own.slice(0, 20)}\u200b${own.slice(20)}`,
      `${own.slice(0, 20)} ${own.slice(20)}`,
      `${own}.`,
    ]) {
      expect((await new Browser().open(authorizeUrl(one, { client_id }))).status).toBe(401);
      expect(
        (await tokenRequest(one, { client_id, grant_type: "refresh_token", refresh_token: "x" })).status,
      ).toBe(401);
    }
  });
});

describe("the name of a host on the consent page", () => {
  test.each([
    "\u3164",
    "\u2800\u2800",
    "\u115f",
    "\uffa0",
    "\u00ad\u200b",
    "\u{e0041}",
    "\ufe0f",
    "\u0301\u0301",
    "\u200d",
  ])("%j says that it cannot be read, and where the sign-in leads", async (client_name) => {
    const one = await startWorld();
    const uri = "https://evil.example/cb";
    const client_id = await hostId(one, { client_name, redirect_uris: [uri] });
    const page = await new Browser().open(authorizeUrl(one, { client_id, redirect_uri: uri }));
    expect(page.text).toContain("An application without a readable name (evil.example)");
  });

  test("with hidden characters is shown without them, and marked", async () => {
    const one = await startWorld();
    const client_id = await hostId(one, { client_name: "Clau\u200bde\u3164" });
    const { text } = await new Browser().open(authorizeUrl(one, { client_id }));
    expect(text).toContain("Claude (hidden characters removed)");
  });
});

/** JSON of any shape, with the names and values that matter. */
const oddValue = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: "binary" }),
  fc.constantFrom<unknown>(
    "file:///x",
    "https:evil",
    "http://[::1",
    "http://127.0.0.1:99999/",
    "https://a.example/%",
    "\ud800",
    1e308,
  ),
  fc.array(
    fc.constantFrom<unknown>(
      "file:",
      "https://",
      "http://localhost:0",
      {},
      null,
      [],
      "https://a.example/\u0000",
    ),
    { maxLength: 4 },
  ),
);
const oddMetadata = fc.dictionary(
  fc.constantFrom(
    "redirect_uris",
    "client_name",
    "client_uri",
    "jwks_uri",
    "jwks",
    "grant_types",
    "response_types",
    "scope",
    "contacts",
    "__proto__",
    "constructor",
  ),
  oddValue,
);
const PARAMETERS = [
  ...[
    "client_id",
    "redirect_uri",
    "response_type",
    "code_challenge",
    "code_challenge_method",
    "resource",
    "state",
    "scope",
  ],
  ...[
    "grant_type",
    "code",
    "code_verifier",
    "refresh_token",
    "token",
    "request",
    "decision",
    "prompt",
    "response_mode",
  ],
];

describe("whatever strangers send", () => {
  test("to the registration is answered, and never with 500", async () => {
    const one = await startWorld();
    await fc.assert(
      fc.asyncProperty(oddMetadata, async (metadata) => {
        const { status, body } = await registerHost(one, metadata);
        expect([201, 400, 429]).toContain(status);
        if (status !== 201) expect(typeof body.error_description).toBe("string");
      }),
      { numRuns: 300 },
    );
  });

  test("to the other endpoints is answered, and never with 500", async () => {
    const one = await startWorld();
    const known = await hostId(one);
    const value = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(
        "S256",
        "code",
        "refresh_token",
        "authorization_code",
        REDIRECT,
        one.resource,
        known,
        "file:///x",
        "https:evil",
        "%",
        "\ud800",
      ),
    );
    const form = fc.dictionary(fc.constantFrom(...PARAMETERS), value);
    await fc.assert(
      fc.asyncProperty(form, fc.boolean(), async (parameters, isKnown) => {
        const sent = { ...parameters, ...(isKnown && { client_id: known, redirect_uri: REDIRECT }) };
        for (const path of ["token", "revoke"])
          expect((await postForm(`${one.url}/oauth/${path}`, sent)).status).toBeLessThan(500);
        const query = new URLSearchParams(sent);
        for (const path of ["authorize", "authorize/callback"]) {
          const { status } = await fetch(`${one.url}/oauth/${path}?${query}`, { redirect: "manual" });
          expect(status).toBeLessThan(500);
        }
        const decided = await fetch(`${one.url}/oauth/authorize`, {
          method: "POST",
          body: query,
          redirect: "manual",
        });
        expect(decided.status).toBeLessThan(500);
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    "null",
    "7",
    '"x"',
    "[]",
    '{"a":',
    "\ufeff{}",
    "{\u0000}",
    `{"redirect_uris":${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
  ])("as JSON, such as %s, is refused with 400", async (body) => {
    const { url } = await startWorld();
    const headers = { "content-type": "application/json" };
    expect((await fetch(`${url}/oauth/register`, { method: "POST", headers, body })).status).toBe(400);
  });
});
