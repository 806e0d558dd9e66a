/** `auth` of a server, `credentials` and `publicUrl`: what the config makes of them. */
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { secretsOf } from "../../../src/cli/secrets-of.js";
import { needsRestart } from "../../../src/config/changes.js";
import { formatProblem } from "../../../src/config/problem.js";
import { readConfig } from "../../../src/config/read.js";
import { SECTIONS, testOf } from "../../support/features.js";

const read = (config: object) =>
  readConfig(JSON.stringify(config), "/home/me/cardea.json", { env: {}, sections: SECTIONS });

function good(config: object) {
  const outcome = read(config);
  if (!outcome.ok || outcome.problems.length > 0)
    throw new Error(outcome.problems.map(({ message }) => message).join("\n"));
  return outcome;
}

const url = "https://mcp.example.com/mcp";
const server = (shape: object) => good({ mcpServers: { a: shape } }).config.servers[0];
const authOf = (shape: object) => server({ url, ...shape })?.auth;
const problems = (shape: object): string => {
  const outcome = read({ mcpServers: { a: { url, ...shape } } });
  return outcome.problems.map(({ message }) => message).join("\n");
};

/** The config, a line of dashes, and the messages. */
test("a wrong config is refused with these sentences and positions", () => {
  const text = readFileSync(new URL("server-auth.jsonc.txt", import.meta.url), "utf8");
  const [, config = "", expected = ""] = /^([\s\S]*?)---\n([\s\S]*)$/.exec(text) ?? [];
  const readFile = () => {
    throw new Error("no files here");
  };
  const outcome = readConfig(config, "cardea.jsonc", { env: {}, readFile, sections: SECTIONS });
  const messages = outcome.problems.map((problem) => `${formatProblem(problem)}\n`).join("");
  expect(messages).toBe(expected);
  expect(messages).not.toContain("s3cret");
});

describe("auth of a server", () => {
  test.each([
    ["two clients at one issuer", { b: "other" }, 'and two "clientId"'],
    ["a server named like the issuer", { "https://idp.example.com": "gateway" }, "is named like the"],
  ])("refuses %s, as a person has one login there", (_what, others, message) => {
    const idp = (clientId: string) => ({
      issuer: "https://idp.example.com",
      clientId,
      clientSecret: "9dk2-jf8s0a",
    });
    const servers = Object.entries({ a: "gateway", ...others }).map(([name, clientId]) => [
      name,
      { url, auth: { type: "enterprise", idp: idp(clientId) } },
    ]);
    const outcome = read({ mcpServers: Object.fromEntries(servers) });
    expect(outcome.problems.map((problem) => problem.message)).toEqual([expect.stringContaining(message)]);
  });

  test("defaults to OAuth as each principal", () => {
    const written = { type: "oauth", as: "principal", hasPrincipals: false, quirks: {}, allowHosts: [] };
    const assumed = { ...written, isAssumed: true };
    expect(authOf({})).toEqual(assumed);
    expect(authOf({ auth: {} })).toEqual(written);
    expect(authOf({ type: "sse" })).toEqual(assumed);
    expect(authOf({ headers: { "X-Api-Key": "k" } })).toEqual(assumed);
  });

  test("is absent if the server has its own header, no URL, or type none", () => {
    expect(authOf({ headers: { AUTHORIZATION: "Bearer x" } })).toBeUndefined();
    expect(authOf({ auth: { type: "none" } })).toBeUndefined();
    expect(authOf({ auth: { type: "none" }, headers: { authorization: "Bearer x" } })).toBeUndefined();
    expect(server({ command: "x" })?.auth).toBeUndefined();
  });

  test("knows whether the gateway has principals, and is another one where that changes", () => {
    const [one, other] = [{}, { auth: { keys: [{ id: "ci", hash: "0a".repeat(32) }] } }].map(
      (more) => good({ mcpServers: { a: { url } }, ...more }).config.servers[0],
    );
    if (one === undefined || other === undefined) throw new Error("no server");
    expect([one.auth?.hasPrincipals, other.auth?.hasPrincipals]).toEqual([false, true]);
    expect(needsRestart(one, other)).toBe(true);
  });

  testOf("openapi")("of an API is what it says, and absent otherwise", () => {
    expect(authOf({ type: "openapi" })).toBeUndefined();
    expect(authOf({ type: "openapi", auth: { scopes: ["read"] } })).toMatchObject({ as: "principal" });
  });

  test("comes out complete, quirks by the names that the code has for them", () => {
    expect(
      authOf({
        auth: {
          clientId: "id",
          clientSecret: "secret-of-the-client",
          scopes: ["a", "b"],
          issuer: "https://login.example.com",
          as: "shared",
          allowHosts: ["login.corp.example"],
          quirks: {
            "issuer-slash": true,
            issuer: "https://other.example",
            "no-resource": true,
            "assume-s256": true,
            "basic-raw": true,
            "client-name": "Cursor",
            "redirect-host": "localhost",
          },
        },
      }),
    ).toEqual({
      type: "oauth",
      as: "shared",
      hasPrincipals: false,
      clientId: "id",
      clientSecret: "secret-of-the-client",
      scopes: ["a", "b"],
      issuer: "https://login.example.com",
      allowHosts: ["login.corp.example"],
      quirks: {
        issuerSlash: true,
        issuer: "https://other.example",
        noResource: true,
        assumeS256: true,
        basicRaw: true,
        clientName: "Cursor",
        redirectHost: "localhost",
      },
    });
  });

  test("of a service has no person", () => {
    const client = { clientId: "id", clientSecret: "secret" };
    expect(authOf({ auth: { type: "client_credentials", ...client } })).toMatchObject({ as: "service" });
  });

  const pem = { type: "pkcs8", format: "pem" } as const;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  test.each([
    ["PEM", privateKey.export(pem).toString()],
    ["a JWK", JSON.stringify(privateKey.export({ format: "jwk" }))],
  ])("takes a private key as %s", (_, text) => {
    const auth = authOf({ auth: { type: "private_key_jwt", clientId: "id", privateKey: text } });
    expect(auth).toMatchObject({ as: "service", privateKey: text });
  });

  test.each([
    ["a public key", publicKey.export({ type: "spki", format: "pem" }).toString()],
    ["a public JWK", JSON.stringify(publicKey.export({ format: "jwk" }))],
    ["anything else", "s3cret"],
  ])("refuses %s as a private key, without quoting it", (_, text) => {
    const said = problems({ auth: { type: "private_key_jwt", clientId: "id", privateKey: text } });
    expect(said).toContain('has an "auth.privateKey" that is no private key');
    expect(said).not.toContain("s3cret");
  });

  test("of the company's issuer names it", () => {
    const idp = { issuer: "https://idp.example.com", clientId: "gateway", clientSecret: "secret-at-the-idp" };
    expect(authOf({ auth: { type: "enterprise", idp } })).toMatchObject({
      as: "principal",
      idp: { ...idp, scopes: ["openid", "offline_access"], subjectToken: "id_token" },
    });
  });

  test("identifies another server when it changes", () => {
    const [one, other] = [{}, { auth: { scopes: ["a"] } }].map((shape) => server({ url, ...shape }));
    if (one === undefined || other === undefined) throw new Error("no server");
    expect(needsRestart(one, other)).toBe(true);
    expect(needsRestart(one, one)).toBe(false);
  });
});

test("secrets of sign-ins are never shown", () => {
  const key = Buffer.alloc(32, 7).toString("base64");
  const read = good({
    credentials: { key },
    mcpServers: {
      a: { url, auth: { clientId: "the-client", clientSecret: "hf83jd-02kd9s" } },
      b: {
        url: "https://b.example",
        auth: {
          type: "token_exchange",
          idp: { issuer: "https://i.example", clientId: "x", clientSecret: "9dk2-jf8s0a" },
        },
      },
    },
  });
  const secrets = secretsOf(read);
  expect(secrets).toEqual(expect.arrayContaining([key, "hf83jd-02kd9s", "9dk2-jf8s0a"]));
  expect(secrets).not.toContain("the-client");
});

describe("credentials", () => {
  const [one, other] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString("base64url"));
  test.each([
    [{ key: one }, { keys: [one] }],
    [{ key: [one, other] }, { keys: [one, other] }],
    [{ keyFile: "keys/cardea" }, { keyFile: "/home/me/keys/cardea" }],
  ])("%j is %j", (credentials, complete) => {
    expect(good({ credentials }).config.features.credentials).toEqual(complete);
  });

  test("are absent where nothing is said", () => {
    expect(Object.hasOwn(good({}).config.features, "credentials")).toBe(false);
  });

  test("have one source", () => {
    const outcome = read({ credentials: { key: one, keyFile: "x" } });
    expect(outcome.problems).toMatchObject([
      { message: 'credentials has both "key" and "keyFile"; it can have one' },
    ]);
  });
});

test("the host of the public URL is an allowed one", () => {
  const { http } = good({
    listen: { http: { publicUrl: "https://mcp.example.com:8443/cardea/", allowedHosts: ["a.example"] } },
  }).config.listen;
  expect(http.publicUrl).toBe("https://mcp.example.com:8443/cardea");
  expect(http.allowedHosts).toEqual(["a.example", "mcp.example.com:8443"]);
});
