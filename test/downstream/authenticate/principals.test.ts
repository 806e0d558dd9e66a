/** Principals are pairs of a source and an id: what equal ids of two sources share (nothing), and which ids no source may give. */

import { createLocalJWKSet } from "jose";
import { describe, expect, test } from "vitest";
import { ANONYMOUS, type Principal } from "../../../src/core/client.js";
import { idOfKey, principalKey } from "../../../src/core/principal.js";
import { ownerNamed, principalNamed } from "../../../src/downstream/authenticate/authentication.js";
import { checkToken } from "../../../src/downstream/authenticate/tokens.js";
import { OWNER_IDS, reservedIn } from "../../../src/wire/reserved-ids.js";
import { AUDIENCE, issuer as startIssuer } from "../../support/issuer.js";
import { authenticationOf, bearer, jwtConfig, keyConfig, outcome } from "./support.js";

const isPrincipal = (found: object): found is Principal => "id" in found;

async function principalOfToken(sub: string, keys = [keyConfig("ci", "k1")]) {
  const issuer = await startIssuer();
  const authentication = authenticationOf({ keys, jwt: jwtConfig(issuer.url) });
  return { issuer: issuer.url, found: await outcome(authentication, bearer(await issuer.token({ sub }))) };
}

describe("the subject of a token", () => {
  test.each([
    ...[
      "operator",
      "anonymous",
      "admin-token",
      "shared",
      "service",
      "Operator",
      "ＡＮＯＮＹＭＯＵＳ",
      "оperator",
    ],
    ...["group:leads", "GROUP:leads", "admin_token", "ci", "CI", "ｃｉ", "cі", "sha\u0301red"],
  ])("%s is refused: it is, or reads like, an id of the gateway or of a key", async (sub) => {
    expect((await principalOfToken(sub)).found).toMatchObject({
      status: 401,
      message: expect.stringContaining("reserved id"),
    });
  });

  test.each([
    "al\u200bice",
    "alice\u2060",
    "\u3164",
    "alice\u00ad",
    "a\u202eb",
    "alice\u{e0061}",
    "al\ufe0fice",
    " alice",
    "\u0301alice",
  ])("%j is refused: it has characters that cannot be seen", async (sub) => {
    expect((await principalOfToken(sub)).found).toMatchObject({
      status: 401,
      message: expect.stringContaining("hidden"),
    });
  });

  test("may be any other, and a group with hidden characters refuses the token", async () => {
    const { found } = await principalOfToken("auth0|5f7c8e");
    expect(found).toMatchObject({ id: "auth0|5f7c8e", byToken: true });
    const issuer = await startIssuer();
    const authentication = authenticationOf({ jwt: jwtConfig(issuer.url) });
    const token = await issuer.token({ sub: "ann", groups: ["leads", "ad\u200bmins"] });
    expect(await outcome(authentication, bearer(token))).toMatchObject({ status: 401 });
  });
});

describe("equal ids", () => {
  test("of two issuers, of a key, of a token and of this machine are different principals", async () => {
    const [one, two] = [await principalOfToken("ann"), await principalOfToken("ann")];
    const byKey = await outcome(authenticationOf({ keys: [keyConfig("ann", "k")] }), bearer("k"));
    const local = principalNamed("ann", undefined);
    const all = [one.found, two.found, byKey, local].filter(isPrincipal);
    expect(all.map(({ id }) => id)).toEqual(["ann", "ann", "ann", "ann"]);
    expect(new Set(all.map(principalKey)).size).toBe(4);
    expect(all.map(principalKey).map(idOfKey)).toEqual(["ann", "ann", "ann", "ann"]);
  });

  test("of one issuer by its own tokens and by those of the gateway are one principal, and of an earlier issuer none", async () => {
    const [company, gateway] = [await startIssuer(), await startIssuer()];
    const keys = { requiredScopes: [], isReserved: reservedIn([]), audience: [AUDIENCE] };
    const own = (personIssuer: string, claims: Record<string, unknown>) =>
      gateway.token({ sub: "ann", ...claims }).then((text) =>
        checkToken(text, {
          ...keys,
          jwt: jwtConfig(gateway.url),
          personIssuer,
          keyOf: createLocalJWKSet(gateway.keys() as never),
        }),
      );
    const direct = await checkToken(await company.token({ sub: "ann" }), {
      ...{
        ...keys,
        jwt: jwtConfig(company.url),
        personIssuer: company.url,
        keyOf: createLocalJWKSet(company.keys() as never),
      },
    });
    const mine = await own(company.url, { person_iss: company.url });
    expect(principalKey(mine.principal)).toBe(principalKey(direct.principal));
    await expect(own("https://new.example", { person_iss: company.url })).rejects.toThrow("another issuer");
  });

  test("that an operator names are those of the config: a key, else the issuer's person", async () => {
    const { issuer, found } = await principalOfToken("ann");
    const auth = { keys: [keyConfig("ci", "k")], requiredScopes: [], jwt: jwtConfig(issuer) };
    const byKey = await outcome(authenticationOf({ keys: auth.keys }), bearer("k"));
    if (!isPrincipal(found) || !isPrincipal(byKey)) throw new Error("refused");
    expect(ownerNamed("ann", auth)).toBe(principalKey(found));
    expect(ownerNamed("ci", auth)).toBe(principalKey(byKey));
    expect(ownerNamed("anonymous", auth)).toBe(ANONYMOUS.id);
    for (const id of OWNER_IDS) expect(ownerNamed(id, auth)).toBe(id);
  });
});
