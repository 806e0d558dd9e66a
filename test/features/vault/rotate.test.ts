/** `cardea vault rotate` puts everything that is kept of sign-ins under another key. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { recordFileOf } from "../../../src/features/vault/vault.js";
import { fakeShell } from "../../cli/fake-shell.js";
import { credential, stateFolder, vaultIn } from "./credentials.js";

const KEYS = [1, 2].map((byte) => Buffer.alloc(32, byte).toString("base64"));

async function rotate(state: string, env: Record<string, string> = {}, args: readonly string[] = []) {
  const shell = fakeShell({ cwd: state, env: { CARDEA_STATE_DIR: state, HOME: state, ...env } });
  const code = await runCommandLine(["vault", "rotate", ...args], shell);
  return { code, said: shell.said.join("\n"), out: shell.out() };
}

test("without a config the key file gets a new key, under which all records are", async () => {
  const state = stateFolder();
  const vault = await vaultIn(state);
  await vault.write(credential());
  const before = readFileSync(join(state, "credentials.key"), "utf8").trim();
  const { code, said } = await rotate(state);
  expect([code, said]).toEqual([
    0,
    expect.stringMatching(/^1 record is now encrypted under key [\da-f]{8}\.$/m),
  ]);
  expect(readFileSync(join(state, "credentials.key"), "utf8").startsWith(before.slice(0, 20))).toBe(false);
  expect(await vault.read("linear", "ann")).toEqual(credential());
});

test("with credentials in the config records go under its first key, and the others are named", async () => {
  const state = stateFolder();
  const [old = "", next = ""] = KEYS;
  await (await vaultIn(state, { keys: { key: old } })).write(credential());
  const config = { credentials: { key: ["${NEW_KEY}", "${OLD_KEY}"] }, mcpServers: {} };
  writeFileSync(join(state, "cardea.json"), JSON.stringify(config));
  const { code, said, out } = await rotate(state, { NEW_KEY: next, OLD_KEY: old }, ["--json"]);
  expect([code, said]).toEqual([0, expect.not.stringContaining(old)]);
  expect(JSON.parse(out)).toMatchObject({
    rotated: 1,
    failed: [],
    unused: [expect.stringMatching(/^[\da-f]{8}$/)],
  });
  expect(await (await vaultIn(state, { keys: { key: next } })).read("linear", "ann")).toEqual(credential());
});

test("a record that cannot be read is named, and the exit code is 1", async () => {
  const state = stateFolder();
  const vault = await vaultIn(state);
  await vault.write(credential());
  writeFileSync(join(state, "credentials", recordFileOf("linear", "bob")), "junk", { mode: 0o600 });
  const { code, said } = await rotate(state);
  expect([code, said]).toEqual([1, expect.stringContaining("its first line is wrong")]);
  expect(said).toContain("1 record is now encrypted");
});

test("cardea vault alone says which commands there are", async () => {
  const shell = fakeShell();
  expect(await runCommandLine(["vault"], shell)).toBe(2);
  expect(shell.said.join()).toContain("a command is missing after vault");
});
