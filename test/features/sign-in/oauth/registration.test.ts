/** As which client the gateway appears (2026-07-28: basic/authorization/client-registration). */
import { describe, expect, test } from "vitest";
import {
  clientMetadataDocument,
  type RegistrationOptions,
  register,
} from "../../../../src/features/sign-in/oauth/client.js";
import { OAuthError } from "../../../../src/features/sign-in/oauth/oauth-error.js";
import type { ClientRegistration } from "../../../../src/features/vault/types.js";
import {
  adversarialServer,
  hangUp,
  html,
  huge,
  json,
  oauthError,
  redirectTo,
  status,
} from "../../../support/sign-in/adversarial-server.js";
import { discoverAt, fetchFor, NOW, REDIRECT_URI } from "./support.js";

async function registering() {
  const server = await adversarialServer();
  const run = async (more: Partial<RegistrationOptions> = {}): Promise<ClientRegistration> => {
    const { authorizationServer } = (await discoverAt(server.mcpUrl)).discovered;
    return register({
      authorizationServer,
      redirectUri: REDIRECT_URI,
      fetch: fetchFor(server.mcpUrl),
      now: () => NOW,
      ...more,
    });
  };
  const errorOf = async (more: Partial<RegistrationOptions> = {}): Promise<OAuthError> => {
    const error: unknown = await run(more).catch((thrown: unknown) => thrown);
    if (error instanceof OAuthError) return error;
    throw new Error("it did not fail as expected", { cause: error });
  };
  const sent = (): Record<string, unknown> => JSON.parse(server.seen.at(-1)?.body ?? "") as never;
  return { server, run, errorOf, sent };
}

const URL_OF_DOCUMENT = "https://gateway.example.com/oauth/client.json";
const KEPT: ClientRegistration = {
  clientId: "kept",
  tokenEndpointAuthMethod: "none",
  source: "dynamic",
  registeredAt: 1,
};

describe("the order of client registration", () => {
  test("is: config, metadata document, stored, dynamic", async () => {
    const { server, run } = await registering();
    server.metadata.client_id_metadata_document_supported = true;
    const all = { configured: { clientId: "mine" }, clientMetadataUrl: URL_OF_DOCUMENT, kept: KEPT };
    expect(await run(all)).toEqual({ clientId: "mine", tokenEndpointAuthMethod: "none", source: "config" });
    expect(await run({ ...all, configured: undefined })).toEqual({
      clientId: URL_OF_DOCUMENT,
      tokenEndpointAuthMethod: "none",
      source: "metadata_document",
    });
    expect(await run({ kept: KEPT })).toBe(KEPT);
    expect(server.steps()).not.toContain("register");
    expect(await run()).toMatchObject({ source: "dynamic", registeredAt: NOW });
  });

  test("skips the document if the server does not support it", async () => {
    const { run } = await registering();
    expect((await run({ clientMetadataUrl: URL_OF_DOCUMENT })).source).toBe("dynamic");
  });

  test("registers again if the stored secret has expired", async () => {
    const { run } = await registering();
    expect(await run({ kept: { ...KEPT, secretExpiresAt: NOW + 1 } })).toMatchObject({ clientId: "kept" });
    expect((await run({ kept: { ...KEPT, secretExpiresAt: NOW } })).clientId).not.toBe("kept");
  });

  test.each([
    [false, "Register the gateway there by hand and set auth.clientId"],
    [true, "set listen.http.publicUrl (https) or auth.clientMetadataUrl, or set auth.clientId"],
  ])("ends in an error with advice if nothing is possible (documents: %s)", async (documents, sentence) => {
    const { server, errorOf } = await registering();
    server.metadata.registration_endpoint = undefined;
    server.metadata.client_id_metadata_document_supported = documents;
    const { message } = await errorOf();
    expect(message).toContain(sentence);
    expect(message).toContain(`The redirect URI is ${REDIRECT_URI}`);
    expect(message).toContain(server.issuer);
  });
});

describe("a client of the config", () => {
  test.each([
    [undefined, "client_secret_basic"],
    [["client_secret_post", "client_secret_basic"], "client_secret_basic"],
    [["client_secret_post", "none"], "client_secret_post"],
    [["private_key_jwt"], "client_secret_basic"],
  ])("with a secret, if the server supports %j, sends it by %s", async (methods, expected) => {
    const { server, run } = await registering();
    server.metadata.token_endpoint_auth_methods_supported = methods;
    const client = await run({ configured: { clientId: "a", clientSecret: "b" } });
    expect(client.tokenEndpointAuthMethod).toBe(expected);
  });

  test("with a key signs", async () => {
    const { run } = await registering();
    const client = await run({ configured: { clientId: "a", hasKey: true } });
    expect(client.tokenEndpointAuthMethod).toBe("private_key_jwt");
  });
});

describe("a dynamic registration", () => {
  test.each([
    [REDIRECT_URI, "native"],
    ["http://localhost:7/oauth/callback", "native"],
    ["https://gateway.example.com/oauth/callback", "web"],
  ])("for %s is of the type %s, and requests refresh tokens", async (redirectUri, type) => {
    const { run, sent } = await registering();
    await run({ redirectUri });
    expect(sent()).toEqual({
      client_name: "Cardea",
      redirect_uris: [redirectUri],
      application_type: type,
      grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    });
  });

  test("has the name of the quirk", async () => {
    const { run, sent } = await registering();
    await run({ quirks: { clientName: "Listed" } });
    expect(sent().client_name).toBe("Listed");
  });

  test.each([
    [["client_secret_basic", "none"], REDIRECT_URI, "none"],
    [["client_secret_basic", "none"], "https://g.example.com/oauth/callback", "client_secret_basic"],
    [["client_secret_post"], REDIRECT_URI, "client_secret_post"],
    [["private_key_jwt"], REDIRECT_URI, "none"],
  ])("if the server supports %j, for %s, requests %s", async (methods, redirectUri, expected) => {
    const { server, run, sent } = await registering();
    server.metadata.token_endpoint_auth_methods_supported = methods;
    await run({ redirectUri });
    expect(sent().token_endpoint_auth_method).toBe(expected);
  });

  test.each([
    [{ client_id: "a" }, 201, { tokenEndpointAuthMethod: "none" }],
    [{ client_id: "a" }, 200, { tokenEndpointAuthMethod: "none" }],
    [
      { client_id: "a", client_secret: "s", client_secret_expires_at: 1_900_000_000 },
      201,
      {
        clientSecret: "s",
        tokenEndpointAuthMethod: "client_secret_basic",
        secretExpiresAt: 1_900_000_000_000,
      },
    ],
    [
      { client_id: "a", client_secret: "s", client_secret_expires_at: 0 },
      201,
      { clientSecret: "s", tokenEndpointAuthMethod: "client_secret_basic" },
    ],
    [
      { client_id: "a", client_secret: "s", token_endpoint_auth_method: "client_secret_post" },
      201,
      { clientSecret: "s", tokenEndpointAuthMethod: "client_secret_post" },
    ],
    [{ client_id: "a", client_secret: null }, 201, { tokenEndpointAuthMethod: "none" }],
    [
      { client_id: "a", token_endpoint_auth_method: "client_secret_basic" },
      201,
      { tokenEndpointAuthMethod: "none" },
    ],
  ])("answered with %j (%i) is parsed", async (answer, code, expected) => {
    const { server, run } = await registering();
    server.set("register", json(answer, code));
    expect(await run()).toEqual({ clientId: "a", source: "dynamic", registeredAt: NOW, ...expected });
  });

  test.each([
    [oauthError("invalid_redirect_uri", "loopback is not allowed"), "does not accept the redirect URI"],
    [
      oauthError("invalid_client_metadata", "redirect_uris: must be https"),
      "does not accept the redirect URI",
    ],
  ])("refused because of the redirect URI gives advice", async (behaviour, sentence) => {
    const { server, errorOf } = await registering();
    server.set("register", behaviour);
    const { message, quirk } = await errorOf();
    expect(message).toContain(sentence);
    expect(message).toContain(REDIRECT_URI);
    expect(message).toContain("Set listen.http.publicUrl");
    expect([message.includes("auth.clientId"), quirk]).toEqual([true, "redirect-host: localhost"]);
  });

  test.each([
    ["a list of names", oauthError("access_denied", "client name is not on the allow list", 403), false],
    ["401", status(401), false],
    ["404", status(404), false],
    ["a page", html, false],
    ["no client id", json({}, 201), false],
    ["a client id that is a number", json({ client_id: 7 }, 201), false],
    ["a redirect", redirectTo("/elsewhere"), false],
    ["503", status(503), true],
    ["429", status(429), true],
    ["a closed connection", hangUp, true],
    ["a megabyte", huge, true],
  ])(
    "answered with %s fails and names auth.clientId, or may succeed later",
    async (_, behaviour, isTemporary) => {
      const { server, errorOf } = await registering();
      server.set("register", behaviour);
      const error = await errorOf();
      expect([error.isTemporary, error.message.includes("auth.clientId")]).toEqual([
        isTemporary,
        !isTemporary,
      ]);
      expect(error.message).toContain(`${server.issuer}/register`);
      expect(server.seen.filter(({ step }) => step === "register" || step === "other")).toHaveLength(1);
    },
  );

  test("at a private address is not made", async () => {
    const { server, errorOf } = await registering();
    server.metadata.registration_endpoint = "https://10.0.0.1/register";
    const { isTemporary, message } = await errorOf();
    expect([isTemporary, message]).toEqual([false, expect.stringContaining("auth.allowHosts")]);
  });

  test("refused for its name suggests the quirk", async () => {
    const { server, errorOf } = await registering();
    server.set("register", status(403));
    expect((await errorOf()).quirk).toBe("client-name: NAME");
  });

  test("whose error has control characters and is long is quoted on one short line", async () => {
    const { server, errorOf } = await registering();
    server.set("register", oauthError("invalid_client_metadata", `a\n\u001b[31m\u202e${"x".repeat(5_000)}`));
    const { message } = await errorOf();
    expect(message).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(message.length).toBeLessThan(700);
  });
});

describe("the document that the gateway serves", () => {
  test("has its URL as the client id", () => {
    const redirectUris = ["https://gateway.example.com/oauth/callback"];
    expect(clientMetadataDocument({ url: URL_OF_DOCUMENT, redirectUris })).toEqual({
      client_id: URL_OF_DOCUMENT,
      client_name: "Cardea",
      redirect_uris: redirectUris,
      application_type: "web",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    });
  });

  test.each([
    "http://gateway.example.com/a.json",
    "https://gateway.example.com",
    "https://g.example.com/a#b",
  ])("cannot be at %s", (url) => {
    expect(() => clientMetadataDocument({ url, redirectUris: [REDIRECT_URI] })).toThrow(
      "https URL with a path",
    );
  });
});
