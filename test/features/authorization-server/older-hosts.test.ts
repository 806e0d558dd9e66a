/** Hosts of 2025-03-26, which know neither resource metadata nor `resource` (RFC 8707). */
import { describe, expect, test } from "vitest";
import {
  answerIn,
  authorizeUrl,
  Browser,
  hostId,
  pkce,
  REDIRECT,
  realCompany,
  startWorld,
  tokenRequest,
} from "./support.js";

const ID = "https://host.example/client.json";
const document = { client_id: ID, client_name: "Documented", redirect_uris: [REDIRECT] };
const world = () => startWorld({ company: realCompany, fetchDocument: async () => document });

const audienceOf = (token: unknown): unknown =>
  JSON.parse(Buffer.from(String(token).split(".")[1] ?? "", "base64url").toString()).aud;

/** The form that redeems the code of a sign-in with `resource`; undefined leaves it out. */
async function codeFor(one: Awaited<ReturnType<typeof world>>, client_id: string, resource?: string) {
  const { verifier, challenge } = pkce();
  const url = authorizeUrl(one, { client_id, code_challenge: challenge, resource });
  const { code = "" } = answerIn(await new Browser().signIn(url, "alice"));
  const grant_type = "authorization_code";
  return { grant_type, client_id, code, redirect_uri: REDIRECT, code_verifier: verifier };
}

describe("a host that names no resource", () => {
  test.each([
    ["that has registered", undefined, undefined],
    ["with a metadata document", ID, undefined],
    ["with an empty parameter, which counts as none", undefined, ""],
  ])("signs its person in, for the gateway, and renews its tokens: one %s", async (_, id, resource) => {
    const one = await world();
    const client_id = id ?? (await hostId(one));
    const { status, body } = await tokenRequest(one, await codeFor(one, client_id, resource));
    expect({ status, aud: audienceOf(body.access_token) }).toEqual({ status: 200, aud: one.resource });
    const refresh_token = String(body.refresh_token);
    const renewed = await tokenRequest(one, { grant_type: "refresh_token", client_id, refresh_token });
    expect(renewed.status).toBe(200);
    expect(audienceOf(renewed.body.access_token)).toBe(one.resource);
  });

  test("may name it at the token endpoint, and the other way round", async () => {
    const one = await world();
    const client_id = await hostId(one);
    const late = { ...(await codeFor(one, client_id)), resource: one.resource };
    expect((await tokenRequest(one, late)).status).toBe(200);
    expect((await tokenRequest(one, await codeFor(one, client_id, one.resource))).status).toBe(200);
  });

  test("sees on the consent page for what it asks", async () => {
    const one = await world();
    const url = authorizeUrl(one, { client_id: ID, resource: undefined });
    expect((await new Browser().open(url)).text).toContain(one.resource);
  });

  test("may ask for a part of what was granted at the token endpoint, and never for more", async () => {
    const one = await world();
    const client_id = await hostId(one);
    const files = `${one.resource}/files`;
    const whole = await tokenRequest(one, { ...(await codeFor(one, client_id)), resource: files });
    expect(audienceOf(whole.body.access_token)).toBe(files);
    const part = await codeFor(one, client_id, `${files}/`);
    for (const resource of [one.resource, `${one.resource}/other`, `${one.resource}/`]) {
      const { status, body } = await tokenRequest(one, { ...part, resource });
      expect({ status, error: body.error }).toEqual({ status: 400, error: "invalid_target" });
    }
    const { body } = await tokenRequest(one, part);
    expect(audienceOf(body.access_token)).toBe(files);
    const again = { grant_type: "refresh_token", client_id, refresh_token: String(body.refresh_token) };
    expect((await tokenRequest(one, { ...again, resource: one.resource })).body.error).toBe("invalid_target");
    expect(audienceOf((await tokenRequest(one, again)).body.access_token)).toBe(files);
  });

  test.each(["https://other.example/mcp", "mcp", "http://127.0.0.1:1/mcp", "urn:mcp", "https://"])(
    "gets no token for another resource at the token endpoint: %s",
    async (resource) => {
      const one = await world();
      const form = await codeFor(one, await hostId(one));
      const refused = await tokenRequest(one, { ...form, resource });
      expect({ status: refused.status, error: refused.body.error }).toEqual({
        status: 400,
        error: "invalid_target",
      });
      expect((await tokenRequest(one, form)).status).toBe(200);
    },
  );
});
