/** The keys that sign access tokens: one a month, verified for a day longer, shared by all processes. */
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, SignJWT } from "jose";
import { expect, test } from "vitest";
import { MemoryStore } from "../../../src/features/authorization-server/memory-store.js";
import {
  KEYS_RECORD,
  OVERLAP_MS,
  ROTATION_MS,
  SigningKeys,
} from "../../../src/features/authorization-server/signing-keys.js";
import { Clock } from "./support.js";

function keysOf() {
  const clock = new Clock();
  const store = new MemoryStore(clock.now);
  return { clock, store, keys: new SigningKeys(store, clock.now) };
}

const kidOf = async (keys: SigningKeys) => decodeProtectedHeader(await keys.sign({ sub: "a" })).kid;

test("a key signs for 30 days, and verifies for a day after that", async () => {
  const { clock, keys } = keysOf();
  const old = await keys.sign({ sub: "a" });
  const first = await kidOf(keys);
  clock.pass(ROTATION_MS - 1);
  expect(await kidOf(keys)).toBe(first);
  clock.pass(1);
  const second = await kidOf(keys);
  expect(second).not.toBe(first);
  expect((await keys.jwks()).keys.map(({ kid }) => kid)).toEqual([second, first]);
  await jwtVerify(old, keys.keyOf);
  clock.pass(ROTATION_MS);
  expect((await keys.jwks()).keys.map(({ kid }) => kid)).not.toContain(first);
  await expect(jwtVerify(old, keys.keyOf)).rejects.toThrow("no applicable key");
});

test("expired keys are removed at the next rotation, never within the overlap", async () => {
  const { clock, keys } = keysOf();
  for (let i = 0; i < 5; i++) {
    await keys.sign({});
    clock.pass(ROTATION_MS + OVERLAP_MS);
  }
  expect((await keys.jwks()).keys.length).toBeLessThanOrEqual(2);
});

test("a JWKS contains public keys only", async () => {
  const { keys } = keysOf();
  const jwks = await keys.jwks();
  for (const key of jwks.keys) {
    expect(Object.keys(key).toSorted()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
  }
  await jwtVerify(await keys.sign({ sub: "a" }), createLocalJWKSet(jwks));
});

test("processes that start concurrently share the keys, and verify each other's tokens after a rotation", async () => {
  const { clock, store, keys } = keysOf();
  const other = new SigningKeys(store, clock.now);
  const [a, b] = await Promise.all([keys.jwks(), other.jwks()]);
  expect(a).toEqual(b);
  clock.pass(ROTATION_MS);
  const token = await other.sign({ sub: "a" });
  // This process has not looked into the store since.
  await jwtVerify(token, keys.keyOf);
});

test("a token of another type or with another key is refused", async () => {
  const { clock, keys } = keysOf();
  await keys.jwks();
  const foreign = keysOf();
  await expect(jwtVerify(await foreign.keys.sign({ sub: "a" }), keys.keyOf)).rejects.toThrow(
    "no applicable key",
  );
  const secret = new TextEncoder().encode("x".repeat(32));
  const header = { alg: "HS256", typ: "at+jwt", kid: (await kidOf(keys)) ?? "" };
  const forged = await new SignJWT({ sub: "a" }).setProtectedHeader(header).sign(secret);
  await expect(jwtVerify(forged, keys.keyOf, { algorithms: ["ES256"] })).rejects.toThrow();
  clock.pass(1);
});

test("the sealing secret survives a rotation: codes, registrations and refresh tokens stay valid", async () => {
  const { clock, keys } = keysOf();
  const sealed = (await keys.sealing()).seal("registration", { a: 1 });
  clock.pass(ROTATION_MS);
  const sealing = await keys.sealing();
  expect(sealing.open("registration", sealed)).toEqual({ a: 1 });
  expect(sealing.open("login", sealed)).toBeUndefined();
});

test("a failed read of the store is retried at the next request", async () => {
  const { store, keys } = keysOf();
  const read = store.read.bind(store);
  store.read = () => Promise.reject(new Error("EIO"));
  await expect(keys.jwks()).rejects.toThrow("EIO");
  store.read = read;
  expect((await keys.jwks()).keys).toHaveLength(1);
});

test("keys of an unknown format are not overwritten", async () => {
  const { store, keys } = keysOf();
  await store.write(KEYS_RECORD, { version: 2 });
  await expect(keys.jwks()).rejects.toThrow("a newer version has written them");
  expect(await store.read(KEYS_RECORD)).toEqual({ version: 2 });
});
