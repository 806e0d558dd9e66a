/** Codes, access tokens and refresh tokens: what a host gets, once, and what ends all of it. */
import { createLocalJWKSet, jwtVerify } from "jose";
import { describe, expect, test } from "vitest";
import { MemoryStore } from "../../../src/features/authorization-server/memory-store.js";
import { VaultError } from "../../../src/features/vault/vault-error.js";
import {
  answerIn,
  authorizeUrl,
  Browser,
  codeOf,
  hostId,
  pkce,
  postForm,
  realCompany,
  startWorld,
  tokenRequest,
  tokensOf,
  type World,
} from "./support.js";

const world = (): Promise<World> => startWorld({ company: realCompany });

const jwksOf = async ({ url }: World) => (await fetch(`${url}/oauth/jwks`)).json() as Promise<never>;
const refresh = (of: World, refresh_token: string, client_id: string, more: Record<string, string> = {}) =>
  tokenRequest(of, { grant_type: "refresh_token", refresh_token, client_id, ...more });

describe("a code", () => {
  test("is exchanged for an access token of this gateway only, with the issuer's subject", async () => {
    const one = await world();
    const { body, client_id } = await tokensOf(one);
    const { payload, protectedHeader } = await jwtVerify(
      String(body.access_token),
      createLocalJWKSet(await jwksOf(one)),
    );
    expect(protectedHeader).toMatchObject({ alg: "ES256", typ: "at+jwt" });
    expect(payload).toMatchObject({ iss: one.url, sub: "alice", aud: one.resource, groups: [] });
    expect(payload.client_id).not.toBe(client_id);
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(600);
    expect(body).toMatchObject({ token_type: "Bearer", expires_in: 600, scope: "" });
  });

  test("carries the requested scopes that are offered", async () => {
    const one = await startWorld({ company: realCompany, requiredScopes: ["mcp"] });
    const { verifier, challenge } = pkce();
    const client_id = await hostId(one);
    const url = authorizeUrl(one, { client_id, code_challenge: challenge, scope: "db:read admin" });
    const { code = "" } = answerIn(await new Browser().signIn(url, "alice"));
    const form = { grant_type: "authorization_code", client_id, code, code_verifier: verifier };
    const { body } = await tokenRequest(one, { ...form, redirect_uri: "http://127.0.0.1:4711/callback" });
    expect(body.scope).toBe("mcp db:read");
  });

  test("that is redeemed twice revokes the tokens of the first time", async () => {
    const one = await world();
    const form = await codeOf(one);
    const first = await tokenRequest(one, form);
    expect(first.status).toBe(200);
    expect(await tokenRequest(one, form)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    const after = await refresh(one, String(first.body.refresh_token), form.client_id);
    expect(after).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    expect(one.lines.join("\n")).toContain("was used twice");
    expect(one.lines.join("\n")).not.toContain(form.code);
  });

  test("that two hosts redeem concurrently is redeemed once", async () => {
    const one = await world();
    const form = await codeOf(one);
    const answers = await Promise.all([1, 2, 3].map(() => tokenRequest(one, form)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test("is refused with another verifier, redirect URI, client or resource, and stays valid for its own host", async () => {
    const one = await world();
    const form = await codeOf(one);
    const other = await hostId(one, { client_name: "Another" });
    for (const [wrong, error] of [
      [{ code_verifier: pkce().verifier }, "invalid_grant"],
      [{ redirect_uri: "http://127.0.0.1:4712/callback" }, "invalid_grant"],
      [{ client_id: other }, "invalid_grant"],
      [{ code: `${form.code.slice(0, -1)}_` }, "invalid_grant"],
      [{ code: "made up" }, "invalid_grant"],
      [{ client_id: "made up" }, "invalid_client"],
      [{ resource: "https://other.example/mcp" }, "invalid_target"],
      [{ grant_type: "password" }, "unsupported_grant_type"],
    ] as const) {
      expect((await tokenRequest(one, { ...form, ...wrong })).body.error).toBe(error);
    }
    expect((await tokenRequest(one, form)).status).toBe(200);
  });

  test("expires after a minute", async () => {
    const one = await world();
    const form = await codeOf(one);
    one.clock.pass(60_000);
    const { body } = await tokenRequest(one, form);
    expect(body).toMatchObject({ error: "invalid_grant", error_description: "the code has expired" });
  });

  test("is not accepted as a refresh token, nor a refresh token as a code", async () => {
    const one = await world();
    const form = await codeOf(one);
    expect((await refresh(one, form.code, form.client_id)).body.error).toBe("invalid_grant");
    const { body } = await tokenRequest(one, form);
    const swapped = await tokenRequest(one, { ...form, code: String(body.refresh_token) });
    expect(swapped.body.error).toBe("invalid_grant");
  });
});

describe("a refresh token", () => {
  test("is rotated each time, and the next one works", async () => {
    const one = await world();
    const { refresh_token, client_id } = await tokensOf(one);
    const second = await refresh(one, refresh_token, client_id, { resource: one.resource });
    expect(second.status).toBe(200);
    expect(second.body.refresh_token).not.toBe(refresh_token);
    expect((await refresh(one, String(second.body.refresh_token), client_id)).status).toBe(200);
  });

  test("that is reused revokes the family, including the newest token", async () => {
    const one = await world();
    const { refresh_token, client_id } = await tokensOf(one);
    const second = await refresh(one, refresh_token, client_id);
    expect((await refresh(one, refresh_token, client_id)).body.error).toBe("invalid_grant");
    expect((await refresh(one, String(second.body.refresh_token), client_id)).body.error).toBe(
      "invalid_grant",
    );
  });

  test("of one person is revoked without effect on others", async () => {
    const one = await world();
    const alice = await tokensOf(one, "alice");
    const bob = await tokensOf(one, "bob");
    await refresh(one, alice.refresh_token, alice.client_id);
    await refresh(one, alice.refresh_token, alice.client_id);
    expect((await refresh(one, bob.refresh_token, bob.client_id)).status).toBe(200);
  });

  test("is refused to another client, and stays valid for its own", async () => {
    const one = await world();
    const { refresh_token, client_id } = await tokensOf(one);
    const other = await hostId(one, { client_name: "Another" });
    expect((await refresh(one, refresh_token, other)).body.error).toBe("invalid_grant");
    expect((await refresh(one, refresh_token, client_id)).status).toBe(200);
  });

  test("can narrow the granted scopes, never widen them", async () => {
    const one = await world();
    const { verifier, challenge } = pkce();
    const client_id = await hostId(one);
    const url = authorizeUrl(one, { client_id, code_challenge: challenge, scope: "db:read" });
    const { code = "" } = answerIn(await new Browser().signIn(url, "alice"));
    const form = { grant_type: "authorization_code", client_id, code, code_verifier: verifier };
    const { body } = await tokenRequest(one, { ...form, redirect_uri: "http://127.0.0.1:4711/callback" });
    const more = await refresh(one, String(body.refresh_token), client_id, { scope: "db:read db:write" });
    expect(more.body.error).toBe("invalid_scope");
    const same = await refresh(one, String(body.refresh_token), client_id, { scope: "db:read" });
    expect(same.body.scope).toBe("db:read");
  });

  test("expires with the sign-in, and no access token outlives it", async () => {
    const one = await startWorld({ company: realCompany, signIn: { lifetimeMs: 900_000 } });
    const { refresh_token, client_id } = await tokensOf(one);
    one.clock.pass(600_000);
    const last = await refresh(one, refresh_token, client_id);
    expect(last.body.expires_in).toBe(300);
    one.clock.pass(300_000);
    const { body } = await refresh(one, String(last.body.refresh_token), client_id);
    expect(body).toMatchObject({ error: "invalid_grant", error_description: "the sign-in has expired" });
  });

  test("is refused after the gateway's URL changed: its access tokens would be invalid", async () => {
    const store = new MemoryStore();
    const one = await startWorld({ company: realCompany, store });
    const { refresh_token, client_id } = await tokensOf(one);
    const moved = await startWorld({ store });
    expect((await refresh(moved, refresh_token, client_id)).body.error).toBe("invalid_grant");
    expect((await refresh(one, refresh_token, client_id)).status).toBe(200);
  });

  test("survives a disk failure: the host is asked to retry, and no secret is logged", async () => {
    const store = new MemoryStore();
    const one = await startWorld({ company: realCompany, store });
    const { refresh_token, client_id } = await tokensOf(one);
    const write = store.write.bind(store);
    store.write = () => Promise.reject(new VaultError("disk", "the disk is full (ENOSPC)"));
    const failed = await refresh(one, refresh_token, client_id);
    // After `server_error` the clients of the SDK would lead the person to a new sign-in.
    expect(failed).toMatchObject({ status: 503, body: { error: "temporarily_unavailable" } });
    expect(one.lines.join("\n")).not.toContain(refresh_token);
    store.write = write;
    expect((await refresh(one, refresh_token, client_id)).status).toBe(200);
  });

  test("is revoked by the revocation endpoint, which reveals nothing to other clients", async () => {
    const one = await world();
    const { refresh_token, access_token, client_id } = await tokensOf(one);
    const revoke = (token: string, client = client_id) =>
      postForm(`${one.url}/oauth/revoke`, { token, client_id: client });
    expect((await revoke("unknown")).status).toBe(200);
    expect((await revoke(refresh_token, await hostId(one, { client_name: "Another" }))).status).toBe(200);
    expect((await revoke(access_token)).body.error).toBe("unsupported_token_type");
    const second = await refresh(one, refresh_token, client_id);
    expect(second.status).toBe(200);
    expect((await revoke(String(second.body.refresh_token))).status).toBe(200);
    const after = await refresh(one, String(second.body.refresh_token), client_id);
    expect(after.body.error).toBe("invalid_grant");
    expect(one.lines.join("\n")).toContain("alice has signed out");
  });
});
