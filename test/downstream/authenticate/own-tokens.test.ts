/** Tokens of the gateway's own authorization server (`auth.signIn`), beside keys and tokens of a company's issuer. */
import { createLocalJWKSet } from "jose";
import { describe, expect, test } from "vitest";
import { AUDIENCE, type Issuer, issuer } from "../../support/issuer.js";
import { authenticationOf, bearer, jwtConfig, keyConfig, outcome } from "./support.js";

/** With what only the authorization server itself reads. */
const SIGN_IN = {
  issuer: "https://login.example.com",
  clientId: "cardea",
  scopes: ["openid"],
  groupsClaim: "groups",
  hostScopes: ["db:read"],
  allowHosts: [],
  redirectSchemes: [],
  accessTokenMs: 600_000,
  lifetimeMs: 600_000,
};

/** An authentication whose own authorization server is `own`, and that also takes tokens of `company`. */
function both(own: Issuer, company: Issuer | undefined) {
  const keys = createLocalJWKSet(own.keys() as never);
  return authenticationOf(
    {
      keys: [keyConfig("ci", "the-key-of-ci")],
      requiredScopes: ["mcp"],
      ...(company !== undefined && { jwt: jwtConfig(company.url) }),
      signIn: SIGN_IN,
    },
    { authorizationServer: { issuer: () => own.url, keyOf: keys } },
  );
}

describe("auth.signIn beside auth.keys and auth.jwt", () => {
  test("takes the tokens of both issuers, and keys", async () => {
    const [own, company] = [await issuer(), await issuer()];
    const authentication = both(own, company);
    const mine = await own.token({ scope: "mcp", groups: ["ops"] });
    expect(await outcome(authentication, bearer(mine))).toMatchObject({ id: "alice", groups: ["ops"] });
    const theirs = await company.token({ scope: "mcp", sub: "bob" });
    expect(await outcome(authentication, bearer(theirs))).toMatchObject({ id: "bob" });
    expect(await outcome(authentication, bearer("the-key-of-ci"))).toMatchObject({ id: "ci" });
  });

  test("takes no token of one issuer that is signed by the other", async () => {
    const [own, company] = [await issuer(), await issuer()];
    const authentication = both(own, company);
    for (const forged of [
      await own.token({ scope: "mcp", iss: company.url }),
      await company.token({ scope: "mcp", iss: own.url }),
    ])
      expect(await outcome(authentication, bearer(forged))).toMatchObject({ status: 401 });
  });

  test.each([
    ["for another resource", { scope: "mcp", aud: "https://other.example/mcp" }, 401],
    ["without the required scope", { scope: "db:read" }, 403],
    ["that has expired", { scope: "mcp", exp: 1 }, 401],
    ["with the id of a key as subject", { scope: "mcp", sub: "ci" }, 401],
  ])("refuses a token of its own %s", async (_, claims, status) => {
    const own = await issuer();
    expect(await outcome(both(own, undefined), bearer(await own.token(claims)))).toMatchObject({ status });
  });

  test("names the gateway first, then the company's issuer, and every scope", async () => {
    const [own, company] = [await issuer(), await issuer()];
    expect(both(own, company).metadata()).toMatchObject({
      resource: AUDIENCE,
      authorization_servers: [own.url, company.url],
      scopes_supported: ["mcp", "db:read"],
    });
    expect(await outcome(both(own, undefined), {})).toMatchObject({
      status: 401,
      challenge: `Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp", scope="mcp"`,
    });
  });

  test("answers 503, not 401, while its keys cannot be read: no host signs in again for a full disk", async () => {
    const own = await issuer();
    const authentication = authenticationOf(
      { signIn: {} as never },
      { authorizationServer: { issuer: () => own.url, keyOf: () => Promise.reject(new Error("EIO")) } },
    );
    expect(await outcome(authentication, bearer(await own.token()))).toMatchObject({ status: 503 });
  });
});
