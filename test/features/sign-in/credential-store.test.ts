/** Each principal has credentials of its own at each server, and what other processes write is noticed. */
import { expect, onTestFinished, test, vi } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { TokenSources } from "../../../src/features/sign-in/credential-store.js";
import type { TokenEndpoint } from "../../../src/features/sign-in/token-endpoint.js";
import type { OpenVault } from "../../../src/features/vault/vault.js";
import { credential, stateFolder, vaultIn } from "../vault/credentials.js";
import { RotatingIssuer } from "./rotating-issuer.js";
import { SIGNAL } from "./world.js";

const NOW = 1_000;

function storeOn(vault: OpenVault, endpointOf?: (server: string) => TokenEndpoint): TokenSources {
  const issuer = new RotatingIssuer(() => NOW);
  const store = new TokenSources({
    offersSignIn: async () => true,
    vault,
    endpointOf: endpointOf ?? (() => issuer),
    log: SILENT,
    counter: { tokenRefreshed: () => {} },
    now: () => NOW,
  });
  onTestFinished(() => store.close());
  return store;
}

test("a principal never receives the token of another principal or server", async () => {
  const vault = await vaultIn(stateFolder());
  const store = storeOn(vault);
  await vault.write(credential({ principal: "bob", tokens: { accessToken: "of-bob", obtainedAt: 0 } }));
  await vault.write(credential({ principal: "alice", tokens: { accessToken: "of-alice", obtainedAt: 0 } }));
  expect(await store.of("linear", "bob").obtain(SIGNAL)).toBe("Bearer of-bob");
  expect(await store.of("linear", "alice").obtain(SIGNAL)).toBe("Bearer of-alice");
  for (const [server, principal] of [
    ["linear", "carol"],
    ["notion", "bob"],
  ] as const) {
    await expect(store.of(server, principal).obtain(SIGNAL)).rejects.toMatchObject({
      code: "sign_in_required",
    });
  }
});

test("the credentials of a principal are one object until the auth of the server changes", async () => {
  const [before, after] = [new RotatingIssuer(() => NOW), new RotatingIssuer(() => NOW)];
  let endpoint = before;
  const store = storeOn(await vaultIn(stateFolder()), () => endpoint);
  const first = store.of("linear", "bob");
  expect(store.of("linear", "bob")).toBe(first);
  endpoint = after;
  expect(store.of("linear", "bob")).not.toBe(first);
});

test("a sign-in and a sign-out of another process are reported once, and take effect", async () => {
  const state = stateFolder();
  const store = storeOn(await vaultIn(state));
  const told: string[] = [];
  const end = store.watch("linear", (principal) => void told.push(principal));
  const source = store.of("linear", "ann");
  await expect(source.obtain(SIGNAL)).rejects.toMatchObject({ code: "sign_in_required" });

  const other = await vaultIn(state);
  const tokens = { accessToken: "new", obtainedAt: 0 };
  await other.write(credential({ tokens }));
  await vi.waitFor(() => expect(told).toEqual(["ann"]), { timeout: 60_000 });
  expect(source.header).toBe("Bearer new");

  await other.write(credential({ generation: 2, tokens }));
  await other.remove("linear", "ann");
  await vi.waitFor(() => expect(told).toEqual(["ann", "ann"]), { timeout: 60_000 });
  expect(source.header).toBeUndefined();

  end();
  await other.write(credential({ principal: "bob" }));
  expect(await store.of("linear", "bob").obtain(SIGNAL)).toBe("Bearer access-1");
  expect(told).toEqual(["ann", "ann"]);
});

test("a sign-in of a principal without earlier calls is reported too", async () => {
  const state = stateFolder();
  const store = storeOn(await vaultIn(state));
  const told: string[] = [];
  store.watch("linear", (principal) => void told.push(principal));
  store.watch("notion", () => void told.push("wrong"));
  await (await vaultIn(state)).write(credential());
  await vi.waitFor(() => expect(told).toEqual(["ann"]), { timeout: 60_000 });
});

test("tokens that end within the hour without a refresh token are counted", async () => {
  const vault = await vaultIn(stateFolder());
  const store = storeOn(vault);
  const tokens = { accessToken: "a", obtainedAt: 0 };
  await vault.write(credential({ principal: "a", tokens: { ...tokens, expiresAt: NOW + 3_000_000 } }));
  await vault.write(credential({ principal: "b", tokens: { ...tokens, expiresAt: NOW + 4_000_000 } }));
  await vault.write(
    credential({ principal: "c", tokens: { ...tokens, refreshToken: "r", expiresAt: NOW + 3_000_000 } }),
  );
  await vault.write(credential({ principal: "d", tokens }));
  for (const principal of ["a", "b", "c", "d"]) await store.of("linear", principal).obtain(SIGNAL);
  expect(store.expiring).toBe(1);
});
