/** The login at the company's issuer: what is sent there, what is believed, and what a bad answer ends in. */
import { createHash } from "node:crypto";
import { decodeJwt, type JWTPayload } from "jose";
import { describe, expect, test } from "vitest";
import type { SignInConfig } from "../../../src/config/auth-config.js";
import { guardedFetch } from "../../../src/outgoing/guarded-fetch.js";
import { type HostileCompany, hostileCompany } from "./hostile-company.js";
import {
  answerIn,
  authorizeUrl,
  Browser,
  hostId,
  pkce,
  REDIRECT,
  startWorld,
  tokenRequest,
  type World,
} from "./support.js";

interface Begun {
  readonly one: World;
  readonly company: HostileCompany;
  readonly browser: Browser;
  readonly client_id: string;
  readonly verifier: string;
  /** Where the browser is sent to. */
  readonly url: string;
}

async function begun(
  signIn: Partial<SignInConfig> = {},
  prepare: (company: HostileCompany) => void = () => {},
): Promise<Begun> {
  const company = await hostileCompany();
  prepare(company);
  const one = await startWorld({ company: async () => company, signIn });
  const browser = new Browser();
  const { verifier, challenge } = pkce();
  const client_id = await hostId(one);
  const page = await browser.open(authorizeUrl(one, { client_id, code_challenge: challenge }));
  const { location = "" } = await browser.decide(page, "allow");
  return { one, company, browser, client_id, verifier, url: location };
}

/** The parameters with which the host ends up. */
const result = async ({ browser, company, url }: Begun, more: Record<string, string | undefined> = {}) =>
  answerIn(await browser.open(company.callback(url, more)));

/** The claims of the access token that the host gets in the end. */
async function claimsOf(of: Begun): Promise<JWTPayload> {
  const { code = "" } = await result(of);
  const { client_id, verifier } = of;
  const form = { grant_type: "authorization_code", client_id, code, code_verifier: verifier };
  const { body } = await tokenRequest(of.one, { ...form, redirect_uri: REDIRECT });
  return decodeJwt(String(body.access_token));
}

describe("a login", () => {
  test("requests a code with PKCE, state and nonce, and sends the verifier and secret to the issuer only", async () => {
    const of = await begun({ scopes: ["email"] });
    const sent = Object.fromEntries(new URL(of.url).searchParams);
    expect(sent).toEqual({
      response_type: "code",
      client_id: "cardea",
      redirect_uri: `${of.one.url}/oauth/authorize/callback`,
      scope: "openid email",
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
    });
    const answer = await result(of);
    expect(answer).toEqual({ code: expect.any(String), state: "state of the host", iss: of.one.url });
    const { form, authorization } = of.company.asked;
    const verifier = form?.get("code_verifier") ?? "";
    expect(createHash("sha256").update(verifier).digest("base64url")).toBe(sent.code_challenge);
    expect(Buffer.from((authorization ?? "").slice(6), "base64").toString()).toMatch(/^cardea:/);
    expect(of.one.lines.join("\n")).not.toContain(verifier);
    expect(of.one.lines.join("\n")).not.toContain(answer.code);
  });

  test("sends the client secret in the body if the issuer only supports that, and none without a secret", async () => {
    const inForm = await begun({}, (company) => {
      company.metadata = { token_endpoint_auth_methods_supported: ["client_secret_post"] };
    });
    await result(inForm);
    expect(inForm.company.asked.form?.get("client_secret")).toBe("the secret of the gateway");
    const open = await begun({ clientSecret: undefined as never });
    await result(open);
    expect(open.company.asked.authorization).toBeUndefined();
    expect(open.company.asked.form?.get("client_secret")).toBeNull();
  });

  test.each([
    ["the ID token", { groups: ["ops", "dev", 7] }, undefined],
    ["the user information", {}, { sub: "alice", groups: ["ops", "dev"] }],
  ])("reads the groups from %s", async (_, claims, user) => {
    const of = await begun();
    Object.assign(of.company, { claims, user });
    expect(await claimsOf(of)).toMatchObject({ sub: "alice", groups: ["ops", "dev"] });
  });

  test("continues without groups if the issuer gives no user information", async () => {
    expect(await claimsOf(await begun())).toMatchObject({ sub: "alice", groups: [] });
  });
});

describe("an ID token", () => {
  test.each([
    ["of another issuer", { iss: "https://evil.example" }],
    ["for another client", { aud: "other" }],
    ["for several clients, another one in charge", { aud: ["cardea", "other"], azp: "other" }],
    ["with another nonce", { nonce: "another" }],
    ["without a nonce", { nonce: undefined }],
    ["that has expired", { exp: 1 }],
    ["without an end", { exp: undefined }],
    ["without a subject", { sub: undefined }],
    ["with a number as subject", { sub: 7 }],
    ["with an empty subject", { sub: "" }],
    ["with a control character in the subject", { sub: "a\u0000b" }],
    ["with the id of an API key as subject", { sub: "ci" }],
    ["of anonymous", { sub: "anonymous" }],
  ])("%s is rejected", async (_, claims) => {
    const of = await begun();
    of.company.claims = claims;
    const answer = await result(of);
    expect(answer.code).toBeUndefined();
    expect(answer.error).toMatch(/^(server_error|access_denied)$/);
    expect(answer.state).toBe("state of the host");
  });

  test("signed with an unknown key is rejected", async () => {
    const of = await begun();
    of.company.signsSecretly = true;
    expect(await result(of)).toMatchObject({ error: "server_error" });
  });

  test("about another person than the user information is rejected", async () => {
    const of = await begun();
    of.company.user = { sub: "bob", groups: ["ops"] };
    expect(await result(of)).toMatchObject({ error: "server_error" });
  });
});

describe("the issuer's response", () => {
  test.each([
    ["an error", { code: undefined, error: "access_denied" }, "access_denied"],
    ["another iss (RFC 9207)", { iss: "https://evil.example" }, "server_error"],
    ["no code", { code: undefined }, "server_error"],
  ])("with %s is an error at the host", async (_, more, error) => {
    expect(await result(await begun(), more)).toMatchObject({ error, state: "state of the host" });
  });

  test("without the iss that its metadata advertises is refused (RFC 9207)", async () => {
    const of = await begun({}, (company) => {
      company.metadata = { authorization_response_iss_parameter_supported: true };
    });
    expect(await result(of)).toMatchObject({ error: "server_error" });
  });

  test.each([
    ["500", (status: number) => status, 500, "text/plain", "down"],
    ["HTML", (status: number) => status, 200, "text/html", "<p>hello"],
    ["an error of OAuth", (status: number) => status, 400, "application/json", '{"error":"invalid_grant"}'],
    ["a redirect", (status: number) => status, 302, "text/plain", ""],
    [
      "no ID token",
      (status: number) => status,
      200,
      "application/json",
      '{"access_token":"a","token_type":"Bearer"}',
    ],
  ])("of the token endpoint with %s is an error at the host", async (_, __, status, type, body) => {
    const of = await begun();
    of.company.tokens = (response) =>
      response.writeHead(status, { "content-type": type, location: "http://127.0.0.1:1/" }).end(body);
    expect(await result(of)).toMatchObject({ error: "server_error" });
    expect(of.one.lines.join("\n")).toContain("the answer of");
  });
});

describe("metadata of the issuer", () => {
  test.each(["https://169.254.169.254/token", "https://10.0.0.7/token", "http://login.example/token"])(
    "with %s receives no code and no secret (SSRF)",
    async (token_endpoint) => {
      const of = await begun({}, (company) => {
        company.metadata = { token_endpoint };
      });
      expect(await result(of)).toMatchObject({ error: "server_error" });
      expect(of.company.asked).toEqual({});
    },
  );

  test.each([
    ["about another issuer", { issuer: "https://evil.example" }],
    ["without keys", { jwks_uri: undefined }],
    ["without an authorization endpoint", { authorization_endpoint: undefined }],
  ])("with %s prevents sign-in: the host gets an error, and the log has the reason", async (_, metadata) => {
    const { one, url } = await begun({}, (company) => {
      company.metadata = metadata;
    });
    expect(url.startsWith(REDIRECT)).toBe(true);
    expect(new URL(url).searchParams.get("error")).toBe("temporarily_unavailable");
    expect(one.lines.join("\n")).toContain("sign-in is not possible");
  });

  test("that cannot be fetched is fetched again at the next login", async () => {
    const company = await hostileCompany();
    let isDown = true;
    const one = await startWorld({
      company: async () => company,
      fetch: (url, request) =>
        isDown
          ? Promise.reject(new Error("ECONNREFUSED"))
          : guardedFetch({ serverUrl: company.issuer })(url, request),
    });
    const browser = new Browser();
    const page = await browser.open(authorizeUrl(one, { client_id: await hostId(one) }));
    expect((await browser.decide(page, "allow")).location).toContain("error=temporarily_unavailable");
    isDown = false;
    expect((await browser.decide(page, "allow")).location?.startsWith(company.issuer)).toBe(true);
  });
});
