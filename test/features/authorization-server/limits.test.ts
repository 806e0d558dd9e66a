/** Floods of refused requests: whom they hinder, and whom they do not. */
import { describe, expect, test } from "vitest";
import { MemoryStore } from "../../../src/features/authorization-server/memory-store.js";
import { addressRanges } from "../../../src/http/address-ranges.js";
import { clientAddress } from "../../../src/http/client-address.js";
import { sample } from "../../support/sample.js";
import {
  authorizeUrl,
  Browser,
  codeOf,
  hostId,
  postForm,
  REDIRECT,
  realCompany,
  registerHost,
  startWorld,
  tokenRequest,
  tokensOf,
  type World,
} from "./support.js";

const refresh = (of: World, { client_id, refresh_token }: { client_id: string; refresh_token: string }) =>
  tokenRequest(of, { grant_type: "refresh_token", refresh_token, client_id });

/** Until the address of the stranger is refused with 429. */
async function flood(send: (turn: number) => Promise<{ readonly status: number }>): Promise<void> {
  for (let turn = 0; turn <= 300; turn++) if ((await send(turn)).status === 429) return;
  throw new Error("the flood was never refused with 429");
}

describe("a host behind the address of a flood", () => {
  const EMPTY = "an empty token request";
  const floods: Readonly<Record<string, (one: World, turn: number) => Promise<{ readonly status: number }>>> =
    {
      [EMPTY]: (one) => tokenRequest(one, {}),
      "a client_id that is made up": (one, turn) =>
        tokenRequest(one, { client_id: `x${turn}`, grant_type: "refresh_token", refresh_token: "x" }),
      "a refresh token that is made up": async (one, turn) =>
        tokenRequest(one, {
          client_id: await known(one),
          grant_type: "refresh_token",
          refresh_token: `x${turn}`,
        }),
      "a document's URL as client_id": (one, turn) =>
        tokenRequest(one, {
          client_id: `https://a.example/${turn}`,
          grant_type: "refresh_token",
          refresh_token: "x",
        }),
      "a grant type that does not exist": async (one) =>
        tokenRequest(one, { client_id: await known(one), grant_type: "password" }),
      "a body that is no form": async (one) =>
        fetch(`${one.url}/oauth/token`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: "{}",
        }),
    };
  const ids = new WeakMap<World, Promise<string>>();
  const known = (one: World): Promise<string> => {
    const id = ids.get(one) ?? hostId(one);
    ids.set(one, id);
    return id;
  };

  test.each(sample("floods", Object.keys(floods), 2))(
    "of %s gets its tokens, refreshes and revokes them",
    async (name) => {
      const one = await startWorld({ company: realCompany });
      const before = await tokensOf(one);
      const form = await codeOf(one);
      await flood((turn) => floods[name]?.(one, turn) ?? Promise.reject(new Error(name)));
      const refreshed = await refresh(one, before);
      expect(refreshed.status).toBe(200);
      expect((await tokenRequest(one, form)).status).toBe(200);
      const revoked = await postForm(`${one.url}/oauth/revoke`, {
        client_id: before.client_id,
        token: String(refreshed.body.refresh_token),
      });
      expect(revoked.status).toBe(200);
    },
  );

  test("learns that its own refresh token has ended, and need not wait", async () => {
    const one = await startWorld({ company: realCompany });
    const before = await tokensOf(one);
    expect((await refresh(one, before)).status).toBe(200);
    await flood(() => tokenRequest(one, {}));
    expect(await refresh(one, before)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
  });

  const refusals: readonly [string, object][] = [
    ["empty", {}],
    ["with a file: URI", { redirect_uris: ["file:///x"] }],
    ["without redirect URIs", { redirect_uris: [] }],
    ["with a name that is a number", { client_name: 7 }],
    ["for another flow", { grant_types: ["password"] }],
  ];

  test.each(sample("refused registrations", refusals, 2))(
    "registers however many registrations %s are refused",
    async (what, metadata) => {
      const one = await startWorld();
      const all = what === "empty" ? { client_name: undefined, redirect_uris: undefined } : metadata;
      await flood(() => registerHost(one, all));
      for (let host = 0; host < 25; host++) expect((await registerHost(one)).status).toBe(201);
    },
  );

  test("of the documents of other websites is still described by its own", async () => {
    const one = await startWorld({
      fetchDocument: async (url) =>
        url.startsWith("https://good.example/")
          ? { client_id: url, client_name: "Good", redirect_uris: [REDIRECT] }
          : Promise.reject(new Error("there is none")),
    });
    const open = (client_id: string) => new Browser().open(authorizeUrl(one, { client_id }));
    await flood((turn) => open(`https://evil.example/${turn}.json`));
    expect((await open("https://good.example/client.json")).status).toBe(200);
  });
});

test("a document that a person has consented to is fetched again, however many others of its website are asked for", async () => {
  const id = "https://good.example/client.json";
  const one = await startWorld({
    company: realCompany,
    fetchDocument: async (url) => ({ client_id: url, client_name: "Good", redirect_uris: [REDIRECT] }),
  });
  expect((await tokenRequest(one, await codeOf(one, "alice", id))).status).toBe(200);
  one.clock.pass(6 * 60_000);
  const open = (client_id: string) => new Browser().open(authorizeUrl(one, { client_id }));
  await flood((turn) => open(`https://good.example/${turn}.json`));
  expect((await open(id)).status).toBe(200);
});

test("one sign-in whose token is sent again and again has a share of its own, and hinders no other", async () => {
  const one = await startWorld({ company: realCompany });
  const [noisy, quiet] = [await tokensOf(one), await tokensOf(one, "bob")];
  await refresh(one, noisy);
  await flood(() => refresh(one, noisy));
  expect((await refresh(one, quiet)).status).toBe(200);
});

test("behind a trusted proxy each client has a limit of its own, IPv6 by network, and none can choose another's", async () => {
  const trusted = ["loopback"].map(addressRanges).filter(Array.isArray).flat();
  const one = await startWorld({ addressOf: clientAddress(trusted) });
  const empty = (forwarded: string) =>
    fetch(`${one.url}/oauth/register`, { method: "POST", headers: { "x-forwarded-for": forwarded } });
  await flood((turn) => empty(`6.6.6.${turn}, 2001:db8:0:1::${turn.toString(16)}`));
  expect((await empty("2001:db8:0:1:ffff::1")).status).toBe(429);
  expect((await empty("2001:db8:0:2::1")).status).toBe(415);
  expect((await empty("6.6.6.1")).status).toBe(415);
});

test("a person of an earlier issuer keeps no sign-in: equal subjects of two issuers are two persons", async () => {
  const store = new MemoryStore(Date.now);
  const before = await startWorld({ company: realCompany, store });
  const tokens = await tokensOf(before);
  const after = await startWorld({
    ...{ company: realCompany, store, issuer: before.url, resource: before.resource },
  });
  expect(await refresh(after, tokens)).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
});
