/** Tokens of an authorization server: which are accepted, their principals, and the refusals of the others. */
import { createHmac, createPublicKey } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterEach, describe, expect, test, vi } from "vitest";
import { AUDIENCE, type Claims, type Issuer, issuer } from "../../support/issuer.js";
import { authenticationOf, bearer, jwtConfig, keyConfig, outcome } from "./support.js";

afterEach(() => void vi.useRealTimers());

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const now = (): number => Math.floor(Date.now() / 1000);
const METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

/** An issuer, and an authentication that takes its tokens. */
async function taking(more: Parameters<typeof authenticationOf>[0] = {}, alg?: string) {
  const from = await issuer(alg);
  return { from, authentication: authenticationOf({ jwt: jwtConfig(from.url), ...more }) };
}

describe("a good token", () => {
  test.each(["ES256", "RS256", "EdDSA"])("signed with %s brings subject, groups and claims", async (alg) => {
    const { from, authentication } = await taking({}, alg);
    const token = await from.token({ groups: ["staff", 7, "admins"], scope: "a b", tenant: "x" });
    expect(await outcome(authentication, bearer(token))).toMatchObject({
      id: "alice",
      groups: ["staff", "admins"],
      claims: { scope: "a b", tenant: "x", iss: from.url },
      byToken: true,
    });
  });

  test.each([
    ["roles", { roles: "one" }, ["one"]],
    ["realm_access.roles", { realm_access: { roles: ["a", "b"] } }, ["a", "b"]],
    ["https://example.com/groups", { "https://example.com/groups": ["a"] }, ["a"]],
    ["groups", {}, []],
    ["toString", {}, []],
    ["realm_access.roles", { realm_access: null }, []],
  ] as [string, Claims, string[]][])("has its groups in %s", async (groupsClaim, claims, groups) => {
    const from = await issuer();
    const authentication = authenticationOf({ jwt: jwtConfig(from.url, { groupsClaim }) });
    expect(await outcome(authentication, bearer(await from.token(claims)))).toMatchObject({ groups });
  });

  test("may be meant for several, and be meant for us under another name that the config gives", async () => {
    const from = await issuer();
    const several = await from.token({ aud: ["https://other.example.com", AUDIENCE] });
    const plain = authenticationOf({ jwt: jwtConfig(from.url) });
    expect(await outcome(plain, bearer(several))).toMatchObject({ id: "alice" });
    const named = authenticationOf({ jwt: jwtConfig(from.url, { audience: ["api://1", "api://2"] }) });
    expect(await outcome(named, bearer(await from.token({ aud: "api://2" })))).toMatchObject({ id: "alice" });
    expect(await outcome(named, bearer(several))).toMatchObject({ status: 401 });
  });

  test("is meant for the URL that is listened at, where the config names none", async () => {
    const from = await issuer();
    const { resource: _, ...config } = { jwt: jwtConfig(from.url), resource: undefined };
    const authentication = authenticationOf({ ...config, resource: "http://127.0.0.1:8080/mcp" });
    const token = await from.token({ aud: "http://127.0.0.1:8080/mcp" });
    expect(await outcome(authentication, bearer(token))).toMatchObject({ id: "alice" });
  });

  test("works beside keys", async () => {
    const { from, authentication } = await taking({ keys: [keyConfig("ci", "cardea_key")] });
    expect(await outcome(authentication, bearer("cardea_key"))).toMatchObject({ id: "ci" });
    expect(await outcome(authentication, bearer(await from.token()))).toMatchObject({ id: "alice" });
  });
});

describe("a token that is refused", () => {
  const withHeader = async (from: Issuer, header: object): Promise<string> =>
    `${base64(header)}.${(await from.token()).split(".").slice(1).join(".")}`;

  /** HS256 with the issuer's public key as the secret, in each form an attacker finds it in. */
  function confused(from: Issuer, form: "pem" | "der" | "jwk"): string {
    const [jwk = {}] = from.keys().keys;
    const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
    const pem = key.export({ type: "spki", format: "pem" });
    const der = key.export({ type: "spki", format: "der" });
    const secret = { pem, der, jwk: JSON.stringify(jwk) }[form];
    const claims = { iss: from.url, sub: "alice", aud: AUDIENCE, exp: now() + 600 };
    const signed = `${base64({ alg: "HS256", typ: "JWT", kid: "key-1" })}.${base64(claims)}`;
    return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
  }

  const cases: readonly [string, string, string, (from: Issuer) => string | Promise<string>][] = [
    [
      "alg: none",
      "algorithm",
      "the token's signature algorithm (alg) is not allowed",
      async (from) => {
        const claims = (await from.token()).split(".")[1];
        return `${base64({ alg: "none", typ: "JWT" })}.${claims}.`;
      },
    ],
    [
      "alg: none with a signature",
      "algorithm",
      "the token's signature algorithm (alg) is not allowed",
      (from) => withHeader(from, { alg: "none" }),
    ],
    [
      "alg: nOnE",
      "algorithm",
      "the token's signature algorithm (alg) is not allowed",
      (from) => withHeader(from, { alg: "nOnE", kid: "key-1" }),
    ],
    [
      "HS256 over the public key, PEM",
      "algorithm",
      "the token's signature algorithm (alg) is not allowed",
      (from) => confused(from, "pem"),
    ],
    [
      "HS256 over the public key, DER",
      "algorithm",
      "the token's signature algorithm (alg) is not allowed",
      (from) => confused(from, "der"),
    ],
    [
      "HS256 over the public key, JWK",
      "algorithm",
      "the token's signature algorithm (alg) is not allowed",
      (from) => confused(from, "jwk"),
    ],
    [
      "another algorithm than its key's",
      "unknown_signer",
      "the token is signed with a key that its issuer does not have",
      (from) => withHeader(from, { alg: "RS256", kid: "key-1" }),
    ],
    [
      "another audience",
      "audience",
      "the token is not meant for this gateway",
      (from) => from.token({ aud: "https://other.example.com/mcp" }),
    ],
    [
      "our audience as a mere beginning",
      "audience",
      "the token is not meant for this gateway",
      (from) => from.token({ aud: `${AUDIENCE}x` }),
    ],
    [
      "one of our endpoints as audience",
      "audience",
      "the token is meant for another endpoint of this gateway",
      (from) => from.token({ aud: `${AUDIENCE}/files` }),
    ],
    [
      "no audience",
      "audience",
      "the token is not meant for this gateway",
      (from) => from.token({ aud: undefined }),
    ],
    [
      "another issuer",
      "issuer",
      "the token is of another issuer",
      (from) => from.token({ iss: "https://evil.example.com" }),
    ],
    [
      "an issuer that looks like ours",
      "issuer",
      "the token is of another issuer",
      (from) => from.token({ iss: `${from.url}/` }),
    ],
    ["no issuer", "issuer", "the token is of another issuer", (from) => from.token({ iss: undefined })],
    ["a time that is over", "expired", "the token has expired", (from) => from.token({ exp: now() - 61 })],
    [
      "a time to come",
      "not_yet_valid",
      "the token is not valid yet",
      (from) => from.token({ nbf: now() + 120 }),
    ],
    [
      "no end",
      "invalid",
      "the token's claim exp is missing or wrong",
      (from) => from.token({ exp: undefined }),
    ],
    [
      "an end that is no number",
      "invalid",
      "the token's claim exp is missing or wrong",
      (from) => from.token({ exp: "never" }),
    ],
    [
      "no subject",
      "invalid",
      "the token's claim sub is missing or wrong",
      (from) => from.token({ sub: undefined }),
    ],
    [
      "an empty subject",
      "invalid",
      "the token's subject (sub) is empty, too long or has hidden characters",
      (from) => from.token({ sub: "" }),
    ],
    [
      "an endless subject",
      "invalid",
      "the token's subject (sub) is empty, too long or has hidden characters",
      (from) => from.token({ sub: "x".repeat(501) }),
    ],
    ...[["ci"], [], 7, true, { id: "ci" }, { toString: "ci", length: 2 }, null].map(
      (sub): (typeof cases)[number] => [
        `the subject ${JSON.stringify(sub)}`,
        "invalid",
        "the token's subject (sub) is not a string",
        (from) => from.token({ sub }),
      ],
    ),
    ...["ci\0session", "ci\n", " ci", "ci ", " ", "\ud800"].map((sub): (typeof cases)[number] => [
      `the subject ${JSON.stringify(sub)}`,
      "invalid",
      "the token's subject (sub) is empty, too long or has hidden characters",
      (from) => from.token({ sub }),
    ]),
    [
      "the subject of whom nobody knows",
      "invalid",
      "the token's subject (sub) is a reserved id",
      (from) => from.token({ sub: "anonymous" }),
    ],
    [
      "the subject of a key",
      "invalid",
      "the token's subject (sub) is a reserved id",
      (from) => from.token({ sub: "ci" }),
    ],
    [
      "an unknown key",
      "unknown_signer",
      "the token is signed with a key that its issuer does not have",
      (from) => from.token({}, { kid: "other" }),
    ],
    [
      "another key under a known key id",
      "signature",
      "the token's signature is wrong",
      (from) => from.token({}, { kid: "key-1", secretly: true }),
    ],
    [
      "claims that were changed",
      "signature",
      "the token's signature is wrong",
      async (from) => {
        const [header, claims = "", signature] = (await from.token()).split(".");
        const changed = { ...JSON.parse(Buffer.from(claims, "base64url").toString()), sub: "root" };
        return `${header}.${base64(changed)}.${signature}`;
      },
    ],
    [
      "no signature",
      "signature",
      "the token's signature is wrong",
      async (from) => `${(await from.token()).split(".").slice(0, 2).join(".")}.`,
    ],
    [
      "an unknown critical header",
      "invalid",
      "the token cannot be read",
      (from) => withHeader(from, { alg: "ES256", kid: "key-1", crit: ["x"], x: 1 }),
    ],
    [
      "a key that it brings itself",
      "signature",
      "the token's signature is wrong",
      async (from) => {
        const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
        const header = { alg: "ES256", kid: "key-1", jwk: await exportJWK(publicKey) };
        const claims = { iss: from.url, sub: "alice", aud: AUDIENCE, exp: now() + 600 };
        return new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
      },
    ],
    [
      "claims that are no object",
      "invalid",
      "the token cannot be read",
      async () => `${base64({ alg: "ES256" })}.${Buffer.from("7").toString("base64url")}.AAAA`,
    ],
    ["nothing in it", "invalid", "the token cannot be read", async () => "a.b.c"],
  ];

  test.each(cases)("has %s", async (what, reason, message, make) => {
    const alg = what.startsWith("HS256") ? "RS256" : "ES256";
    const { from, authentication } = await taking({ keys: [keyConfig("ci", "cardea_key")] }, alg);
    expect(await outcome(authentication, bearer(await make(from)))).toEqual({
      status: 401,
      message,
      challenge: `Bearer error="invalid_token", error_description="${message}", resource_metadata="${METADATA}"`,
    });
    expect(authentication.failures).toEqual([reason]);
  });

  test("does not appear in the refusal", async () => {
    const { from, authentication } = await taking();
    const token = await from.token({ aud: "s3cret", sub: "s3cret", scope: "s3cret" });
    expect(JSON.stringify(await outcome(authentication, bearer(token)))).not.toContain("s3cret");
  });
});

describe("clocks that differ", () => {
  test("by up to a minute do no harm", async () => {
    const { from, authentication } = await taking();
    const late = await from.token({ exp: now() - 50 });
    const early = await from.token({ nbf: now() + 50 });
    expect(await outcome(authentication, bearer(late))).toMatchObject({ id: "alice" });
    expect(await outcome(authentication, bearer(early))).toMatchObject({ id: "alice" });
  });
});

describe("a token that was good", () => {
  test("is not checked again, and its principal is the same object", async () => {
    const { from, authentication } = await taking();
    const token = await from.token();
    const first = await outcome(authentication, bearer(token));
    // The keys are unavailable now.
    from.failing = (response) => response.writeHead(503).end();
    expect(await outcome(authentication, bearer(token))).toBe(first);
  });

  test("is refused once it has expired, whatever is remembered of it", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
    const { from, authentication } = await taking();
    const token = await from.token({ exp: 1_800_000_100 });
    expect(await outcome(authentication, bearer(token))).toMatchObject({ id: "alice" });
    vi.setSystemTime(1_800_000_100_000 + 59_000);
    expect(await outcome(authentication, bearer(token))).toMatchObject({ id: "alice" });
    vi.setSystemTime(1_800_000_100_000 + 60_000);
    expect(await outcome(authentication, bearer(token))).toMatchObject({ message: "the token has expired" });
  });

  test("is verified again after five minutes, when a key of its issuer may be revoked", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
    let checks = 0;
    const checkToken = async () => {
      checks += 1;
      return { principal: { id: "alice", groups: [], claims: {} }, expiresAt: 1_900_000_000_000 };
    };
    const authentication = authenticationOf({ jwt: jwtConfig("https://a.example.com") }, { checkToken });
    const look = () => outcome(authentication, bearer("a.b.c"));
    await look();
    vi.setSystemTime(1_800_000_000_000 + 299_999);
    await look();
    expect(checks).toBe(1);
    vi.setSystemTime(1_800_000_000_000 + 300_000);
    await look();
    expect(checks).toBe(2);
  });

  test("of one is not mistaken for that of another", async () => {
    const { from, authentication } = await taking();
    const tokens = await Promise.all(["a", "b", "c"].map((sub) => from.token({ sub })));
    for (let round = 0; round < 3; round += 1) {
      const ids = await Promise.all(tokens.map((token) => outcome(authentication, bearer(token))));
      expect(ids).toMatchObject([{ id: "a" }, { id: "b" }, { id: "c" }]);
    }
  });
});

describe("scopes that every token must have", () => {
  const requiredScopes = ["mcp:use", "mcp:read"];

  test("are in the challenge without a token, and in the metadata", async () => {
    const from = await issuer();
    const authentication = authenticationOf({
      jwt: jwtConfig(from.url, { scopes: ["db:write", "mcp:use"] }),
      requiredScopes,
    });
    expect(await outcome(authentication, {})).toEqual({
      status: 401,
      message: "this needs a token: send Authorization: Bearer …",
      challenge: `Bearer resource_metadata="${METADATA}", scope="mcp:use mcp:read"`,
    });
    expect(authentication.metadata()).toEqual({
      resource: AUDIENCE,
      authorization_servers: [from.url],
      scopes_supported: ["mcp:use", "mcp:read", "db:write"],
      bearer_methods_supported: ["header"],
      resource_name: "Cardea",
    });
    expect(authentication.challenge(["db:write", "mcp:use"])).toBe(
      `Bearer error="insufficient_scope", resource_metadata="${METADATA}", scope="mcp:use mcp:read db:write"`,
    );
  });

  test("are all named to a token that lacks one", async () => {
    const { from, authentication } = await taking({ requiredScopes });
    const token = await from.token({ scope: "mcp:use other" });
    expect(await outcome(authentication, bearer(token))).toEqual({
      status: 403,
      message: "the token needs the scopes mcp:use mcp:read",
      challenge: `Bearer error="insufficient_scope", resource_metadata="${METADATA}", scope="mcp:use mcp:read"`,
    });
    expect(authentication.failures).toEqual(["scope"]);
    const enough = await from.token({ scp: ["mcp:read", "mcp:use"] });
    expect(await outcome(authentication, bearer(enough))).toMatchObject({ id: "alice" });
  });
});
