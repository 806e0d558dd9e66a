/** How many sign-ins are kept, and what becomes of those that have ended. */

import { expect, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { Grants, MAX_GRANTS } from "../../../src/features/authorization-server/grants.js";
import { MemoryStore } from "../../../src/features/authorization-server/memory-store.js";
import { Sealing } from "../../../src/features/authorization-server/sealing.js";
import { SigningKeys } from "../../../src/features/authorization-server/signing-keys.js";
import { RateLimit } from "../../../src/http/rate-limit.js";
import { Clock, pkce, REDIRECT } from "./support.js";

function grantsOf(lifetimeMs = 86_400_000) {
  const clock = new Clock();
  const store = new MemoryStore(clock.now);
  const sealing = new Sealing(Buffer.alloc(32, 1));
  const grants = new Grants({
    personIssuer: "https://login.example",
    limit: new RateLimit({ perKey: 1_000, now: clock.now }),
    store,
    sealing: async () => sealing,
    lifetimeMs,
    now: clock.now,
    logger: SILENT,
    onSignIn: () => {},
  });
  const { verifier, challenge } = pkce();
  const asked = { client: "c", clientName: "Host", redirectUri: REDIRECT, scopes: [], challenge };
  const create = (subject: string) => grants.create(asked, { subject, groups: [] }, "https://a.example/mcp");
  const redeem = (code: string) =>
    grants.redeem({ code, client: "c", redirectUri: REDIRECT, verifier }, () => {});
  return { clock, store, grants, create, redeem };
}

test("a person has at most 50 sign-ins: the least recently used one ends, those of others stay", async () => {
  const { clock, store, create, redeem, grants } = grantsOf();
  const bob = await redeem(await create("bob"));
  const first = await redeem(await create("alice"));
  clock.pass(1);
  const second = await redeem(await create("alice"));
  clock.pass(1);
  for (let i = 2; i < MAX_GRANTS; i++) await create("alice");
  clock.pass(1);
  const used = await grants.refresh(first.refreshToken, "c", () => {});
  await create("alice");
  expect(await store.list("")).toHaveLength(MAX_GRANTS + 1);
  await expect(grants.refresh(second.refreshToken, "c", () => {})).rejects.toThrow("no longer valid");
  await grants.refresh(used.refreshToken, "c", () => {});
  await grants.refresh(bob.refreshToken, "c", () => {});
});

test("expired sign-ins are deleted when others start, signing keys never", async () => {
  const { clock, store, create } = grantsOf(3_600_000);
  const keys = new SigningKeys(store, clock.now);
  await keys.jwks();
  await create("alice");
  clock.pass(3_600_000);
  await create("bob");
  expect(await store.list("")).toHaveLength(2);
  expect((await keys.jwks()).keys).toHaveLength(1);
});

test("a full disk loses no sign-in: the refresh token stays valid", async () => {
  const { store, create, redeem, grants } = grantsOf();
  const { refreshToken } = await redeem(await create("alice"));
  const write = store.write.bind(store);
  store.write = () => Promise.reject(new Error("ENOSPC"));
  await expect(grants.refresh(refreshToken, "c", () => {})).rejects.toThrow("ENOSPC");
  store.write = write;
  await grants.refresh(refreshToken, "c", () => {});
});
