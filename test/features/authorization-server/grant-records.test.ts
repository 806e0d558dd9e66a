/** Grants and keys on disk: encrypted in the vault's folder, for all processes of this state directory. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { openGrantRecords } from "../../../src/features/authorization-server/grant-records.js";
import { digestOf } from "../../../src/features/authorization-server/sealing.js";
import { keySource, openVault } from "../../../src/features/vault/vault.js";

function place() {
  const home = mkdtempSync(join(tmpdir(), "cardea-grants-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const folder = join(home, "credentials");
  const open = () => openGrantRecords({ folder, keys: keySource({ folder }), logger: SILENT });
  return { folder, open };
}

const NAME = digestOf("a grant");

test("a grant is readable by another process of the vault, and by no other reader", async () => {
  const { folder, open } = place();
  const store = await open();
  expect(await store.read(NAME)).toBeUndefined();
  await store.write(NAME, { subject: "alice" });
  expect(await (await open()).read(NAME)).toEqual({ subject: "alice" });
  const [file = ""] = readdirSync(folder);
  expect(file).toBe(`host-${NAME}`);
  expect(readFileSync(join(folder, file)).toString("latin1")).not.toContain("alice");
  expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
});

test("grants are listed by name prefix, with the time of the last write; other records are not", async () => {
  const { folder, open } = place();
  const store = await open();
  const vault = await openVault({ folder, logger: SILENT });
  await vault.writeClient("https://login.example.com", "http://127.0.0.1/cb", {
    clientId: "c",
    tokenEndpointAuthMethod: "none",
    source: "dynamic",
  });
  await store.write(NAME, {});
  await store.write(digestOf("another"), {});
  expect(await store.list(NAME.slice(0, 21))).toEqual([{ name: NAME, writtenAt: expect.any(Number) }]);
  expect(await store.list("")).toHaveLength(2);
  await store.remove(NAME);
  expect(await store.list(NAME)).toEqual([]);
});

test("tasks under one lock run one after the other, also those of two processes", async () => {
  const { open } = place();
  const stores = [await open(), await open()];
  await stores[0]?.write(NAME, { n: 0 });
  const add = (at: number) => {
    const store = stores[at % 2];
    return store?.locked(NAME, async () => {
      const { n } = (await store.read(NAME)) as { n: number };
      await store.write(NAME, { n: n + 1 });
    });
  };
  await Promise.all(Array.from({ length: 10 }, (_, at) => add(at)));
  expect(await stores[0]?.read(NAME)).toEqual({ n: 10 });
});

test("vault rotation re-encrypts them, and none is mistaken for a sign-in at a server", async () => {
  const { folder, open } = place();
  const store = await open();
  await store.write(NAME, { subject: "alice" });
  const vault = await openVault({ folder, logger: SILENT });
  expect(await vault.list()).toEqual([]);
  for (let i = 0; i < 3; i++) expect(await vault.rotate()).toMatchObject({ rotated: 1, failed: [] });
  expect(await (await open()).read(NAME)).toEqual({ subject: "alice" });
});
