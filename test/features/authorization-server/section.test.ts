/** `auth.signIn` of a config. */
import { describe, expect, test } from "vitest";
import { type GoodConfig, readConfig } from "../../../src/config/read.js";
import { SECTIONS } from "../../support/features.js";

const read = (config: object) =>
  readConfig(JSON.stringify(config), "/home/me/cardea.json", { env: {}, sections: SECTIONS });
function good(config: object): GoodConfig {
  const outcome = read(config);
  if (!outcome.ok || outcome.problems.length > 0)
    throw new Error(outcome.problems.map(({ message }) => message).join("\n"));
  return outcome;
}
const problems = (config: object): readonly string[] => read(config).problems.map(({ message }) => message);

describe("auth.signIn", () => {
  const signIn = { issuer: "https://login.example.com", clientId: "cardea" };

  test("comes out complete, times in ms, hosts in lower case", () => {
    const redirects = { allowedRedirectHosts: ["Claude.AI"], redirectSchemes: ["Cursor", "com.example.app"] };
    const hosts = { ...redirects, accessTokenLifetime: "5m", lifetime: "24h" };
    const outcome = good({ auth: { signIn: { ...signIn, clientSecret: "a secret text", ...hosts } } });
    expect(outcome.config.auth?.signIn).toEqual({
      ...signIn,
      clientSecret: "a secret text",
      scopes: ["openid"],
      groupsClaim: "groups",
      hostScopes: [],
      allowHosts: [],
      allowedRedirectHosts: ["claude.ai"],
      redirectSchemes: ["cursor", "com.example.app"],
      accessTokenMs: 300_000,
      lifetimeMs: 86_400_000,
    });
    expect(outcome.secrets).toContain("a secret text");
  });

  test("makes publicUrl and the path the resource, where none is named", () => {
    const listen = { http: { publicUrl: "https://mcp.example.com/", host: "0.0.0.0" } };
    const { auth } = good({ auth: { signIn }, listen }).config;
    expect(auth?.resource).toBe("https://mcp.example.com/mcp");
  });

  test("needs publicUrl beyond loopback, because a browser is sent there", () => {
    const message =
      'auth.signIn needs "publicUrl" in listen.http: the https URL under which browsers reach the gateway';
    const resource = "https://mcp.example.com/mcp";
    expect(problems({ auth: { signIn, resource }, listen: { http: { host: "0.0.0.0" } } })).toEqual([
      message,
    ]);
    expect(problems({ auth: { signIn } })).toEqual([]);
  });

  test.each([
    [{ clientId: "a" }, "issuer"],
    [{ ...signIn, issuer: "http://login.example.com" }, "https"],
    [{ ...signIn, accessTokenLifetime: "2h" }, "at most 1h"],
    [{ ...signIn, clientSecret: "a\nb" }, "control characters"],
    [{ ...signIn, allowedRedirectHosts: ["https://claude.ai"] }, "without a port"],
    ...["cursor:", "cursor://", "", "7zip", "a b", "curs\u00f6r", "x".repeat(41)].map(
      (scheme): [object, string] => [{ ...signIn, redirectSchemes: [scheme] }, "must be a scheme such as"],
    ),
    ...["javascript", "JavaScript", "data", "file", "http", "https", "ws", "blob", "vbscript", "about"].map(
      (scheme): [object, string] => [
        { ...signIn, redirectSchemes: ["cursor", scheme] },
        "it is no program's",
      ],
    ),
    ...["view-source", "mailto", "ms-msdt", "search-ms", "intent", "chrome-extension", "ssh", "tel"].map(
      (scheme): [object, string] => [{ ...signIn, redirectSchemes: [scheme] }, "it is no program's own"],
    ),
    [{ ...signIn, scope: "openid" }, "scopes"],
  ])("%j is refused with what is wrong", (shape, words) => {
    const found = problems({ auth: { signIn: shape } });
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(words);
  });

  test("has the issuer of auth.jwt", () => {
    const jwt = { issuer: "https://login.example.com" };
    const other = { issuer: "https://other.example.com", clientId: "gateway" };
    expect(problems({ auth: { jwt, signIn: other } })).toEqual([
      "auth.signIn.issuer must be that of auth.jwt: a person is known by its sub alone, and equal ones of two issuers may be two persons",
    ]);
  });
});
