/** What is kept of sign-ins: encrypted, for this user only, and as it was before where anything fails. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { SILENT } from "../../../src/core/logger.js";
import { type RecordChange, recordFileOf } from "../../../src/features/vault/vault.js";
import fc from "../../support/fast-check.js";
import { credential, stateFolder, vaultIn } from "./credentials.js";

const KEY_A = Buffer.alloc(32, 1).toString("base64");
const KEY_B = Buffer.alloc(32, 2).toString("base64");
const ANN = recordFileOf("linear", "ann");
const BOB = recordFileOf("linear", "bob");
const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe("a record", () => {
  test("is read as written, also by the next process", async () => {
    const state = stateFolder();
    await (await vaultIn(state)).write(credential());
    expect(await (await vaultIn(state)).read("linear", "ann")).toEqual(credential());
    expect(await (await vaultIn(state)).read("linear", "bob")).toBeUndefined();
    expect(await (await vaultIn(state)).read("notion", "ann")).toBeUndefined();
  });

  test("holds any text unchanged", async () => {
    const vault = await vaultIn(stateFolder());
    let generation = 0;
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme" }), fc.string(), async (accessToken, subject) => {
        generation += 1;
        const written = credential({ generation, subject, tokens: { accessToken, obtainedAt: 1 } });
        await vault.write(written);
        expect(await vault.read("linear", "ann")).toEqual(written);
      }),
      { numRuns: 30 },
    );
  });

  test("reveals neither token nor principal nor server on disk, and never the same bytes twice", async () => {
    const state = stateFolder();
    const vault = await vaultIn(state);
    await vault.write(credential());
    const file = join(state, "credentials", ANN);
    const first = readFileSync(file);
    for (const secret of ["access-1", "refresh-1", "linear", "ann"]) {
      expect(first.includes(secret)).toBe(false);
    }
    expect(JSON.parse(first.toString("latin1").split("\n")[0] ?? "")).toEqual({
      v: 1,
      kid: expect.stringMatching(/^[\da-f]{8}$/),
      n: expect.stringMatching(/^[\w-]{16}$/),
    });
    await vault.write(credential({ generation: 2 }));
    expect(readFileSync(file).subarray(60).equals(first.subarray(60))).toBe(false);
  });

  test("and its key are readable by this user only", async () => {
    const state = stateFolder();
    await (await vaultIn(state)).write(credential());
    expect(modeOf(join(state, "credentials"))).toBe(0o700);
    expect(modeOf(join(state, "credentials", ANN))).toBe(0o600);
    expect(modeOf(join(state, "credentials.key"))).toBe(0o600);
  });

  test("is not replaced by the same or an earlier generation", async () => {
    const vault = await vaultIn(stateFolder());
    await vault.write(credential({ generation: 3 }));
    for (const generation of [2, 3]) {
      await expect(vault.write(credential({ generation }))).rejects.toMatchObject({
        fault: "superseded",
        message: expect.stringContaining("already has generation 3"),
      });
    }
    expect((await vault.read("linear", "ann"))?.generation).toBe(3);
  });

  test("is gone after its removal, and may be removed twice", async () => {
    const vault = await vaultIn(stateFolder());
    await vault.write(credential());
    await vault.remove("linear", "ann");
    await vault.remove("linear", "ann");
    expect(await vault.read("linear", "ann")).toBeUndefined();
    await vault.write(credential());
    expect(await vault.read("linear", "ann")).toEqual(credential());
  });

  test("list() names all sign-ins without their tokens, and warns of an unreadable one", async () => {
    const state = stateFolder();
    const warnings: string[] = [];
    const logger = { ...SILENT, warn: (_: object, sentence: string) => void warnings.push(sentence) };
    const vault = await vaultIn(state, { logger });
    await vault.write(credential());
    await vault.write(credential({ principal: "bob" }));
    await vault.writeClient("https://i", "http://127.0.0.1/cb", credential().client);
    writeFileSync(join(state, "credentials", BOB), "junk");
    const { tokens: _, ...rest } = credential();
    expect(await vault.list()).toEqual([rest]);
    expect(warnings).toEqual([expect.stringContaining("its first line is wrong")]);
  });

  test("of a registration is stored per issuer and redirect URI", async () => {
    const vault = await vaultIn(stateFolder());
    const { client } = credential();
    await vault.writeClient("https://i", "http://127.0.0.1/cb", client);
    expect(await vault.readClient("https://i", "http://127.0.0.1/cb")).toEqual(client);
    expect(await vault.readClient("https://i/", "http://127.0.0.1/cb")).toBeUndefined();
    expect(await vault.readClient("https://i", "http://localhost/cb")).toBeUndefined();
    await vault.removeClient("https://i", "http://127.0.0.1/cb");
    expect(await vault.readClient("https://i", "http://127.0.0.1/cb")).toBeUndefined();
  });
});

describe("a record is refused, stays, and is not overwritten,", () => {
  const damages: readonly [string, (state: string, file: string) => void, string, RegExp][] = [
    ["when others may read it", (_, file) => chmodSync(file, 0o640), "permissions", /chmod 600/],
    [
      "when others may read the folder",
      (state) => chmodSync(join(state, "credentials"), 0o750),
      "permissions",
      /chmod 700/,
    ],
    [
      "when others may read the key file",
      (state) => chmodSync(join(state, "credentials.key"), 0o644),
      "permissions",
      /the key file .*chmod 600/,
    ],
    [
      "when it is a link",
      (state, file) => {
        copyFileSync(file, join(state, "elsewhere"));
        rmSync(file);
        symlinkSync(join(state, "elsewhere"), file);
      },
      "permissions",
      /it is a link/,
    ],
    [
      "when it is the copy of another principal's",
      (state, file) => copyFileSync(join(state, "credentials", BOB), file),
      "damaged",
      /copy of the file of another principal/,
    ],
    [
      "when a byte was changed",
      (_, file) => {
        const bytes = readFileSync(file);
        bytes[bytes.length - 30] = (bytes[bytes.length - 30] ?? 0) ^ 1;
        writeFileSync(file, bytes);
      },
      "damaged",
      /cardea logout linear --as ann/,
    ],
    [
      "when it was cut",
      (_, file) => writeFileSync(file, readFileSync(file).subarray(0, 70)),
      "damaged",
      /cut/,
    ],
    ["when it is empty", (_, file) => writeFileSync(file, ""), "damaged", /first line/],
    [
      "when a later version wrote it",
      (_, file) => writeFileSync(file, '{"v":2,"kid":"x","n":"y"}\nz'),
      "damaged",
      /it has format 2, and this version reads 1/,
    ],
    [
      "when its key is another machine's",
      (state) => {
        writeFileSync(join(state, "credentials.key"), `${KEY_A}\n`);
      },
      "key",
      /was encrypted with key [\da-f]{8}, which is not in the key file .*put that key back, or .*cardea login/,
    ],
    ["when the key file is gone", (state) => rmSync(join(state, "credentials.key")), "key", /there is none/],
    [
      "when the key file holds no key",
      (state) => writeFileSync(join(state, "credentials.key"), "secret"),
      "key",
      /key 1 is not 32 bytes in base64/,
    ],
  ];

  test.each(damages)("%s", async (_, damage, fault, sentence) => {
    const state = stateFolder();
    const vault = await vaultIn(state);
    await vault.write(credential());
    await vault.write(credential({ principal: "bob" }));
    const file = join(state, "credentials", ANN);
    damage(state, file);
    const before = readFileSync(file);
    await expect(vault.read("linear", "ann")).rejects.toMatchObject({
      fault,
      message: expect.stringMatching(sentence),
    });
    await expect(vault.write(credential({ generation: 2 }))).rejects.toMatchObject({ fault });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("when credentials.keyFile names a missing file", async () => {
    const state = stateFolder();
    const vault = await vaultIn(state, { keys: { keyFile: join(state, "none") } });
    await expect(vault.write(credential())).rejects.toMatchObject({
      fault: "key",
      message: expect.stringContaining("credentials.keyFile"),
    });
  });

  test("a folder of another user is refused immediately", async () => {
    const state = stateFolder();
    mkdirSync(join(state, "credentials"), { mode: 0o755 });
    chmodSync(join(state, "credentials"), 0o755);
    await expect(vaultIn(state)).rejects.toMatchObject({ fault: "permissions" });
  });
});

describe("a write that fails", () => {
  test("leaves the previous record, no temporary file, and reports the reason", async () => {
    const state = stateFolder();
    await (await vaultIn(state)).write(credential());
    const full = await vaultIn(state, {
      createFile: async (file, bytes) => {
        await writeFile(file, bytes.subarray(0, 20));
        throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      },
    });
    await expect(full.write(credential({ generation: 2 }))).rejects.toMatchObject({
      fault: "disk",
      message: expect.stringMatching(/cannot be written .*the previous record is unchanged \(ENOSPC\)$/),
    });
    expect(await full.read("linear", "ann")).toEqual(credential());
    expect(readdirSync(join(state, "credentials"))).toEqual([ANN]);
  });

  test("temporary files of killed processes are deleted at the next start, recent ones stay", async () => {
    const state = stateFolder();
    await (await vaultIn(state)).write(credential());
    const folder = join(state, "credentials");
    const [old, young] = ["0123456789abcdef", "fedcba9876543210"].map((id) =>
      join(folder, `${ANN}.${id}.tmp`),
    );
    writeFileSync(old ?? "", "x");
    writeFileSync(young ?? "", "x");
    utimesSync(old ?? "", 1, 1);
    const vault = await vaultIn(state);
    expect([existsSync(old ?? ""), existsSync(young ?? "")]).toEqual([false, true]);
    expect(await vault.read("linear", "ann")).toEqual(credential());
  });
});

describe("keys", () => {
  test("the first key encrypts, all keys decrypt", async () => {
    const state = stateFolder();
    await (await vaultIn(state, { keys: { key: KEY_A } })).write(credential());
    const both = await vaultIn(state, { keys: { key: `${KEY_B},\n${KEY_A}` } });
    expect(await both.read("linear", "ann")).toEqual(credential());
    await both.write(credential({ generation: 2 }));
    const second = await vaultIn(state, { keys: { key: KEY_B } });
    expect((await second.read("linear", "ann"))?.generation).toBe(2);
    expect(existsSync(join(state, "credentials.key"))).toBe(false);
  });

  test("rotation re-encrypts every record with the first key, and the last key becomes unused", async () => {
    const state = stateFolder();
    const old = await vaultIn(state, { keys: { key: KEY_A } });
    await old.write(credential());
    await old.writeClient("https://i", "http://127.0.0.1/cb", credential().client);
    const both = await vaultIn(state, { keys: { key: `${KEY_B},${KEY_A}` } });
    await both.write(credential({ principal: "bob" }));
    expect(await both.rotate()).toMatchObject({ rotated: 2, unchanged: 1, failed: [] });
    const second = await vaultIn(state, { keys: { key: KEY_B } });
    expect(await second.read("linear", "ann")).toEqual(credential());
    expect(await second.readClient("https://i", "http://127.0.0.1/cb")).toEqual(credential().client);
  });

  test("rotation adds a key to an own key file, which a running process uses", async () => {
    const state = stateFolder();
    const running = await vaultIn(state);
    await running.write(credential());
    const keysBefore = readFileSync(join(state, "credentials.key"), "utf8").split("\n");
    const { kid } = await (await vaultIn(state)).rotate();
    await (await vaultIn(state)).rotate();
    const keys = readFileSync(join(state, "credentials.key"), "utf8").trimEnd().split("\n");
    expect(keys).toHaveLength(2);
    expect(keys).not.toContain(keysBefore[0]);
    expect(kid).toMatch(/^[\da-f]{8}$/);
    expect(await running.read("linear", "ann")).toEqual(credential());
    await running.write(credential({ generation: 2 }));
    expect((await (await vaultIn(state)).read("linear", "ann"))?.generation).toBe(2);
  });

  test("two rotations at once lose no record", async () => {
    const state = stateFolder();
    const vaults = [await vaultIn(state), await vaultIn(state)] as const;
    const principals = Array.from({ length: 20 }, (_, at) => `person-${at}`);
    for (const principal of principals) await vaults[0].write(credential({ principal }));
    await Promise.all(vaults.map((vault) => vault.rotate()));
    for (const principal of principals)
      expect(await vaults[0].read("linear", principal)).toEqual(credential({ principal }));
  });

  test("rotation reports an unreadable record, leaves it, and keeps all keys", async () => {
    const state = stateFolder();
    const vault = await vaultIn(state);
    await vault.write(credential());
    writeFileSync(
      join(state, "credentials", BOB),
      '{"v":1,"kid":"00000000","n":"AAAAAAAAAAAAAAAA"}\nxxxxxxxxxxxxxxxxxxxxx',
      {
        mode: 0o600,
      },
    );
    const { rotated, failed } = await vault.rotate();
    expect([rotated, failed]).toEqual([1, [expect.stringContaining("key 00000000")]]);
    expect(readFileSync(join(state, "credentials.key"), "utf8").trimEnd().split("\n")).toHaveLength(2);
    expect(existsSync(join(state, "credentials", BOB))).toBe(true);
  });

  test("two processes that start concurrently create one key", async () => {
    const state = stateFolder();
    const vaults = await Promise.all([vaultIn(state), vaultIn(state), vaultIn(state)]);
    await Promise.all(vaults.map((vault, at) => vault.write(credential({ principal: `p${at}` }))));
    for (const [at, vault] of vaults.entries()) {
      for (const principal of ["p0", "p1", "p2"]) {
        expect([at, (await vault.read("linear", principal))?.principal]).toEqual([at, principal]);
      }
    }
  });
});

test("a process is notified of records that another one writes and removes", async () => {
  const state = stateFolder();
  const changes: RecordChange[] = [];
  const end = (await vaultIn(state)).watch((change) => void changes.push(change));
  const other = await vaultIn(state);
  await other.write(credential());
  await vi.waitFor(() => expect(changes.at(-1)).toEqual({ file: ANN, credential: credential() }), {
    timeout: 60_000,
  });
  await other.remove("linear", "ann");
  await vi.waitFor(() => expect(changes.at(-1)).toEqual({ file: ANN, credential: undefined }), {
    timeout: 60_000,
  });
  end();
});
