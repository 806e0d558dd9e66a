/** What token endpoints answer, rightly and wrongly: a token that was issued is not lost to a detail. */
import { describe, expect, test } from "vitest";
import { clientCredentials, refreshTokens } from "../../../../src/features/sign-in/oauth/client.js";
import type { ClientRegistration } from "../../../../src/features/vault/types.js";
import fc from "../../../support/fast-check.js";
import {
  adversarialServer,
  type Behaviour,
  halfAnswer,
  hangUp,
  html,
  huge,
  json,
  oauthError,
  redirectTo,
  silent,
  status,
} from "../../../support/sign-in/adversarial-server.js";
import { contextOf, discoverAt, fetchFor, NOW } from "./support.js";

const CLIENT: ClientRegistration = {
  clientId: "me",
  clientSecret: "the-secret",
  tokenEndpointAuthMethod: "client_secret_post",
  source: "config",
};

/** The outcome of a refresh that is answered by `behaviour`. */
async function outcomeOf(behaviour: Behaviour, timeoutMs = 60_000) {
  const server = await adversarialServer();
  const found = await discoverAt(server.mcpUrl);
  server.set("token", behaviour);
  const context = contextOf(server.mcpUrl, found, CLIENT, { fetch: fetchFor(server.mcpUrl, { timeoutMs }) });
  const outcome = await refreshTokens(context, "the-refresh-token");
  expect(server.steps().filter((step) => step === "token" || step === "other")).toEqual(["token"]);
  return outcome;
}

const WHOLE = {
  access_token: "the-access-token",
  token_type: "Bearer",
  expires_in: 60,
  refresh_token: "next",
  scope: "read",
};
const TOKENS = {
  accessToken: "the-access-token",
  refreshToken: "next",
  scope: "read",
  obtainedAt: NOW,
  expiresAt: NOW + 60_000,
};
/** A copy of the tokens without these. */
const without = (...names: readonly (keyof typeof TOKENS)[]) =>
  Object.fromEntries(Object.entries(TOKENS).filter(([name]) => !names.includes(name as never)));

describe("tokens come from an answer", () => {
  test.each([
    ["as RFC 6749 has it", json(WHOLE), TOKENS],
    ["with 201", json(WHOLE, 201), TOKENS],
    ["without token_type", json({ ...WHOLE, token_type: undefined }), TOKENS],
    ["of the type bearer", json({ ...WHOLE, token_type: "bearer" }), TOKENS],
    ["of a type that is not named in any RFC", json({ ...WHOLE, token_type: "user" }), TOKENS],
    [
      "whose refresh_token is null",
      json({ ...WHOLE, refresh_token: null }),
      { ...TOKENS, refreshToken: "the-refresh-token" },
    ],
    [
      "whose refresh_token is empty",
      json({ ...WHOLE, refresh_token: "" }),
      { ...TOKENS, refreshToken: "the-refresh-token" },
    ],
    [
      "without refresh_token",
      json({ ...WHOLE, refresh_token: undefined }),
      { ...TOKENS, refreshToken: "the-refresh-token" },
    ],
    ["whose expires_in is text", json({ ...WHOLE, expires_in: "60" }), TOKENS],
    ["without expires_in", json({ ...WHOLE, expires_in: undefined }), without("expiresAt")],
    ["whose expires_in is null", json({ ...WHOLE, expires_in: null }), without("expiresAt")],
    ["whose expires_in is 0", json({ ...WHOLE, expires_in: 0 }), without("expiresAt")],
    ["whose expires_in is negative", json({ ...WHOLE, expires_in: -1 }), without("expiresAt")],
    ["whose expires_in is a word", json({ ...WHOLE, expires_in: "never" }), without("expiresAt")],
    [
      "that lives for ages",
      json({ ...WHOLE, expires_in: 1e300 }),
      { ...TOKENS, expiresAt: NOW + 315_360_000_000 },
    ],
    ["without scope", json({ ...WHOLE, scope: undefined }), without("scope")],
    ["whose scope is empty", json({ ...WHOLE, scope: "" }), without("scope")],
    [
      "whose scope is a list",
      json({ ...WHOLE, scope: ["read", "write"] }),
      { ...TOKENS, scope: "read write" },
    ],
    ["whose error is empty", json({ ...WHOLE, error: "" }), TOKENS],
    [
      "with another content type",
      ((response) =>
        void response
          .writeHead(200, { "content-type": "text/plain" })
          .end(JSON.stringify(WHOLE))) as Behaviour,
      TOKENS,
    ],
    [
      "as a form",
      ((response) =>
        void response
          .writeHead(200, { "content-type": "application/x-www-form-urlencoded; charset=utf-8" })
          .end("access_token=the-access-token&expires_in=60&refresh_token=next&scope=read")) as Behaviour,
      TOKENS,
    ],
  ])("%s", async (_, behaviour, tokens) => {
    expect(await outcomeOf(behaviour)).toEqual({ kind: "tokens", tokens });
  });

  test("of any shape without an error", async () => {
    const server = await adversarialServer();
    const context = contextOf(server.mcpUrl, await discoverAt(server.mcpUrl), CLIENT);
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom("a", "", null, 1, "invalid_grant", "Bearer"));
    const names = ["access_token", "token_type", "expires_in", "refresh_token", "scope", "error", "id_token"];
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.constantFrom(...names), value),
        fc.constantFrom(200, 201, 400, 401, 500),
        async (answer, code) => {
          server.set("token", json(answer, code));
          const outcome = await refreshTokens(context, "r");
          if (outcome.kind === "tokens") expect(outcome.tokens.accessToken).toMatch(/^[\x21-\x7e]+$/);
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("an outcome is", () => {
  test.each([
    ["invalid_grant", oauthError("invalid_grant", "spent"), { kind: "invalid_grant", description: "spent" }],
    [
      "GitHub's name of it, with 200",
      oauthError("bad_refresh_token", "spent", 200),
      { kind: "invalid_grant" },
    ],
    ["invalid_client", oauthError("invalid_client", undefined, 401), { kind: "invalid_client" }],
    [
      "GitHub's name of that",
      oauthError("incorrect_client_credentials", undefined, 200),
      { kind: "invalid_client" },
    ],
    ["another error", oauthError("invalid_scope"), { kind: "refused", error: "invalid_scope" }],
    [
      "an error under 200",
      oauthError("invalid_target", "x", 200),
      { kind: "refused", error: "invalid_target" },
    ],
    ["an error with tokens beside it", json({ ...WHOLE, error: "invalid_scope" }), { kind: "refused" }],
    ["DPoP", json({ ...WHOLE, token_type: "DPoP" }), { kind: "refused", error: "unsupported_token_type" }],
    ["no token", json({}), { kind: "refused", error: "invalid_response" }],
    ["a token that ends a header", json({ ...WHOLE, access_token: "a\r\nx: y" }), { kind: "refused" }],
    ["a token that is a number", json({ ...WHOLE, access_token: 7 }), { kind: "refused" }],
    ["401 without an error", status(401), { kind: "refused", error: "http_401" }],
    ["404", status(404), { kind: "refused", error: "http_404" }],
    ["a redirect, which is not followed", redirectTo("/elsewhere"), { kind: "refused", error: "http_307" }],
    ["a redirect to a private address", redirectTo("http://169.254.169.254/"), { kind: "refused" }],
    ["503", status(503), { kind: "unavailable", reason: "the token endpoint answered 503" }],
    ["503 with an error", oauthError("invalid_grant", "x", 503), { kind: "unavailable" }],
    [
      "503 and when to come back",
      status(503, { "retry-after": "7" }),
      { kind: "unavailable", retryAfterMs: 7000 },
    ],
    [
      "429 with a date",
      status(429, { "retry-after": new Date(NOW + 5_000).toUTCString() }),
      { kind: "unavailable", retryAfterMs: 5000 },
    ],
    ["429 with nonsense", status(429, { "retry-after": "soon" }), { kind: "unavailable" }],
    ["temporarily_unavailable", oauthError("temporarily_unavailable"), { kind: "unavailable" }],
    ["a page in place of JSON", html, { kind: "ambiguous" }],
    ["JSON that is no object", json([1]), { kind: "ambiguous" }],
    ["a connection that is closed after the request", hangUp, { kind: "ambiguous" }],
    ["half an answer", halfAnswer, { kind: "ambiguous" }],
    ["a megabyte", huge, { kind: "ambiguous" }],
  ] as [string, Behaviour, object][])("of %s", async (_, behaviour, expected) => {
    expect(await outcomeOf(behaviour)).toMatchObject(expected);
  });

  test("ambiguous when there is no answer in time", async () => {
    const outcome = await outcomeOf(silent, 200);
    expect(outcome).toMatchObject({
      kind: "ambiguous",
      reason: expect.stringContaining("no answer within 200 ms"),
    });
  });

  test("unavailable when there is no connection", async () => {
    const server = await adversarialServer();
    const found = await discoverAt(server.mcpUrl);
    const context = contextOf(server.mcpUrl, found, CLIENT, { tokenEndpoint: "http://127.0.0.1:1/token" });
    expect(await refreshTokens(context, "r")).toMatchObject({
      kind: "unavailable",
      reason: expect.stringContaining("ECONNREFUSED"),
    });
  });

  test("refused when the token endpoint is at a private address", async () => {
    const server = await adversarialServer();
    const found = await discoverAt(server.mcpUrl);
    for (const tokenEndpoint of ["https://10.0.0.1/token", "http://as.example.com/token", "file:///token"]) {
      const context = contextOf(server.mcpUrl, found, CLIENT, { tokenEndpoint });
      expect(await clientCredentials(context, [])).toMatchObject({ kind: "refused", error: "blocked" });
    }
  });

  test("without the secrets of the request, whatever the server repeats", async () => {
    const said = "the refresh token the-refresh-token of me with the-secret is bad";
    const outcome = await outcomeOf(oauthError("invalid_grant", said));
    expect(outcome).toEqual({
      kind: "invalid_grant",
      description: "the refresh token … of me with … is bad",
    });
  });
});
