/** Hosts whose `client_id` is the URL of a metadata document (CIMD). */
import { describe, expect, test } from "vitest";
import { ClientDocuments } from "../../../src/features/authorization-server/client-documents.js";
import { RateLimit } from "../../../src/http/rate-limit.js";
import {
  answerIn,
  authorizeUrl,
  Browser,
  codeOf,
  REDIRECT,
  realCompany,
  startWorld,
  tokenRequest,
} from "./support.js";

const ID = "https://host.example/client.json";
const document = (more: object = {}) => ({
  client_id: ID,
  client_name: "Host with a document",
  redirect_uris: ["http://127.0.0.1/callback"],
  ...more,
});

/** A world in which the document at `ID` is `found`. */
function worldWith(found: unknown, fetched: string[] = []) {
  return startWorld({
    company: realCompany,
    fetchDocument: async (url) => {
      fetched.push(url);
      if (found instanceof Error) throw found;
      return found;
    },
  });
}

describe("a client metadata document", () => {
  test("admits its host without a registration, on any loopback port", async () => {
    const one = await worldWith(document());
    const { status, body } = await tokenRequest(one, await codeOf(one, "alice", ID));
    expect(status).toBe(200);
    const [, claims = ""] = String(body.access_token).split(".");
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({ client_id: ID });
  });

  test("is named on the consent page", async () => {
    const one = await worldWith(document());
    const { text } = await new Browser().open(authorizeUrl(one, { client_id: ID }));
    expect(text).toContain(`It is described by ${ID}`);
  });

  test.each([
    ["another client_id", document({ client_id: "https://host.example/other.json" })],
    ["no client_id", document({ client_id: undefined })],
    ["no redirect URIs", document({ redirect_uris: undefined })],
    ["a redirect URI over http", document({ redirect_uris: ["http://host.example/cb"] })],
    ["a client secret to send", document({ token_endpoint_auth_method: "client_secret_basic" })],
    ["a list in place of an object", [document()]],
    ["nothing, because it cannot be fetched", new Error("https://host.example answered 500")],
  ])("with %s is refused on a page, without a redirect", async (_, found) => {
    const one = await worldWith(found);
    const page = await new Browser().open(authorizeUrl(one, { client_id: ID }));
    expect(page).toMatchObject({ status: 401, location: undefined });
  });

  test.each([
    "https://host.example/",
    "https://host.example",
    "https://host.example/a/../client.json",
    "https://user@host.example/client.json",
    "https://host.example/client.json#x",
    "https://HOST.example/client.json",
    `https://host.example/${"x".repeat(500)}`,
    "https://",
  ])("at %s is never fetched", async (client_id) => {
    const fetched: string[] = [];
    const one = await worldWith(document(), fetched);
    expect((await new Browser().open(authorizeUrl(one, { client_id }))).status).toBe(401);
    expect(fetched).toEqual([]);
  });

  test("over http is not a client metadata document", async () => {
    const fetched: string[] = [];
    const one = await worldWith(document(), fetched);
    const client_id = "http://127.0.0.1/client.json";
    expect((await new Browser().open(authorizeUrl(one, { client_id }))).status).toBe(401);
    expect(fetched).toEqual([]);
  });

  test("is cached for five minutes, and an invalid one for half a minute", async () => {
    const fetched: string[] = [];
    const one = await worldWith(document(), fetched);
    const open = () => new Browser().open(authorizeUrl(one, { client_id: ID }));
    await Promise.all([open(), open(), open()]);
    expect(fetched).toHaveLength(1);
    one.clock.pass(300_000);
    await open();
    expect(fetched).toHaveLength(2);

    const refused: string[] = [];
    const two = await worldWith(new Error("down"), refused);
    const again = () => new Browser().open(authorizeUrl(two, { client_id: ID }));
    await again();
    await again();
    expect(refused).toHaveLength(1);
    two.clock.pass(30_000);
    await again();
    expect(refused).toHaveLength(2);
  });

  test("is cached for at most 200 hosts, and rate limited to 20 fetches a minute per address", async () => {
    let at = 0;
    let fetched = 0;
    const now = () => at;
    const documents = new ClientDocuments({
      fetch: async (url) => {
        fetched += 1;
        return { ...document(), client_id: url };
      },
      allowed: {},
      onLeftOut: () => {},
      limit: new RateLimit({ perKey: 20, total: 1000, now }),
      now,
    });
    const urlOf = (i: number) => `https://host.example/${i}.json`;
    for (let i = 0; i < 20; i++) await documents.find(urlOf(i), "1.2.3.4");
    await expect(documents.find(urlOf(20), "1.2.3.4")).rejects.toThrow("too many clients");
    for (let i = 20; i < 220; i++) await documents.find(urlOf(i), `address ${i}`);
    expect(fetched).toBe(220);
    at = 1;
    await documents.find(urlOf(219), "x");
    expect(fetched).toBe(220);
    await documents.find(urlOf(0), "x");
    expect(fetched).toBe(221);
  });

  test("that changes its redirect URIs takes effect after the cache lifetime", async () => {
    const found = { ...document() };
    const one = await worldWith(found);
    const asked = authorizeUrl(one, { client_id: ID, redirect_uri: REDIRECT });
    expect((await new Browser().open(asked)).status).toBe(200);
    found.redirect_uris = ["http://127.0.0.1/other"];
    one.clock.pass(300_000);
    expect((await new Browser().open(asked)).status).toBe(400);
  });

  test("needs S256 like any host", async () => {
    const one = await worldWith(document());
    const page = await new Browser().open(
      authorizeUrl(one, { client_id: ID, code_challenge_method: "plain" }),
    );
    expect(answerIn(page)).toMatchObject({ error: "invalid_request" });
  });
});
