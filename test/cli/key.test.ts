import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runCommandLine } from "../../src/cli/program.js";
import { readConfig } from "../../src/config/read.js";
import { fakeShell } from "./fake-shell.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 10, 20, 12) }));
afterEach(() => void vi.useRealTimers());

interface Entry {
  readonly id: string;
  readonly hash: string;
  readonly groups?: readonly string[];
  readonly expires?: string;
}

async function made(args: readonly string[], env: Record<string, string> = {}) {
  const shell = fakeShell({ env });
  const code = await runCommandLine(["key", ...args], shell);
  const [key = "", entry = "{}", ...more] = shell.out().trimEnd().split("\n");
  return { code, key, entry: JSON.parse(entry) as Entry, more, said: shell.said };
}

describe("key", () => {
  test("prints a key of 256 random bits and its entry for the config", async () => {
    const { code, key, entry, more, said } = await made(["--id", "ci", "--groups", "robots, staff,"]);
    expect([code, more]).toEqual([0, []]);
    expect(key).toMatch(/^cardea_[\w-]{43}$/);
    const hash = `sha256:${createHash("sha256").update(key).digest("hex")}`;
    expect(entry).toEqual({ id: "ci", hash, groups: ["robots", "staff"] });
    expect(said.join()).not.toContain(key);
    const config = readConfig(JSON.stringify({ auth: { keys: [entry] } }), "cardea.json", { env: {} });
    expect(config.ok).toBe(true);
    expect((await made(["--id", "ci"])).key).not.toBe(key);
  });

  test("generates a name where none is given", async () => {
    const { entry } = await made([]);
    expect(entry.id).toMatch(/^key-[0-9a-f]{8}$/);
    expect(Object.keys(entry)).toEqual(["id", "hash"]);
  });

  test.each([
    ["90d", "2027-02-18T12:00:00Z"],
    ["12h", "2026-11-21T00:00:00Z"],
    ["2w", "2026-12-04T12:00:00Z"],
    ["1y", "2027-11-20T12:00:00Z"],
    ["2027-01-31", "2027-01-31T00:00:00Z"],
    ["2027-01-31T08:00:00+02:00", "2027-01-31T06:00:00Z"],
  ])("--expires %s is %s", async (text, expires) => {
    const { entry } = await made(["--expires", text]);
    expect(entry.expires).toBe(expires);
    const config = readConfig(JSON.stringify({ auth: { keys: [entry] } }), "cardea.json", { env: {} });
    expect(config.ok && config.config.auth?.keys[0]?.expiresAt).toBe(Date.parse(expires));
  });

  test.each([
    ["--expires", "2020-01-01"],
    ["--expires", "tomorrow"],
    ["--expires", "0d"],
    ["--expires", "999999y"],
    ["--id", "anonymous"],
    ["--id", "a\u0007b"],
  ])("%s %s is a usage error", async (flag, value) => {
    const shell = fakeShell();
    expect(await runCommandLine(["key", flag, value], shell)).toBe(2);
    expect([shell.out(), shell.said[0]]).toEqual(["", expect.stringContaining(`error: ${flag} takes`)]);
  });

  test("flags have environment variables", async () => {
    const { entry } = await made(["--id", "flag"], {
      CARDEA_ID: "env",
      CARDEA_GROUPS: "a,b",
      CARDEA_EXPIRES: "",
    });
    expect(entry).toMatchObject({ id: "flag", groups: ["a", "b"] });
    expect(entry).not.toHaveProperty("expires");
  });

  test("prints one JSON document with --json", async () => {
    const shell = fakeShell();
    expect(await runCommandLine(["key", "--json", "--id", "ci"], shell)).toBe(0);
    const { key, entry } = JSON.parse(shell.out()) as { key: string; entry: Entry };
    expect([key.length, entry.id, shell.said]).toEqual([50, "ci", []]);
  });
});

describe("the keys of a config file", () => {
  const ALICE = `sha256:${"a".repeat(64)}`;
  const CONFIG = `{
  // who may come
  "auth": {
    "keys": [
      // the people
      { "id": "alice", "hash": "${ALICE}", "groups": ["staff"] }, // since May
      { "id": "bob", "hash": "sha256:${"b".repeat(64)}", "expires": "2026-01-01" },
      { "id": "alice", "hash": "sha256:${"c".repeat(64)}", "expires": "2027-01-01" },
    ],
  },
  "mcpServers": { "a": { "command": "x", "env": { "T": "\${UNSET}" } } },
}
`;
  let folder: string;
  const file = () => join(folder, "cardea.jsonc");
  const text = () => readFileSync(file(), "utf8");
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "cardea-key-"));
    writeFileSync(file(), CONFIG);
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const run = async (...args: readonly string[]) => {
    const shell = fakeShell({ cwd: folder, env: { HOME: folder, XDG_CONFIG_HOME: folder } });
    const code = await runCommandLine(["key", ...args], shell);
    return { code, out: shell.out(), said: shell.said };
  };

  test("--add appends a key, prints only the key, and keeps the comments", async () => {
    const { code, out, said } = await run("--add", "--id", "ci", "--groups", "robots", "--expires", "90d");
    expect(code).toBe(0);
    expect(out).toMatch(/^cardea_[\w-]{43}\n$/);
    const hash = createHash("sha256").update(out.trim()).digest("hex");
    const line = `      { "id": "ci", "hash": "sha256:${hash}", "groups": ["robots"], "expires": "2027-02-18T12:00:00Z" },\n`;
    expect(
      text().replace(
        /\{\s+("id": "ci",.*?)\s+\},/s,
        (_, inner: string) => `{ ${inner.replace(/\s+/g, " ")} },`,
      ),
    ).toBe(CONFIG.replace("    ],\n", `${line}    ],\n`));
    expect(said[0]).toBe(
      'Added to auth.keys of cardea.jsonc as "ci". A running gateway takes the change over by itself.',
    );
  });

  test("--add of an id that has a key already names both, which are accepted", async () => {
    const { said, code } = await run("--add", "--id", "bob");
    expect(code).toBe(0);
    expect(said.join("\n")).toContain(
      '"bob" has 2 keys now, and each of them is accepted. To end the others',
    );
    const other = await run("--add", "--id", "alice", "--groups", "admins");
    expect(other.said.join("\n")).toContain(
      '"alice" has 3 keys now, and each of them is accepted. They have different groups: what the principal may do depends on the key.',
    );
    expect((await run("--add", "--id", "ci")).said.join("\n")).not.toContain("keys now");
  });

  test("--add creates auth where there is none, and warns of the consequence", async () => {
    writeFileSync(file(), '{ "mcpServers": {} }');
    const { code, said, out } = await run("--add", "--id", "ci", "--json");
    const { entry, file: where } = JSON.parse(out) as { entry: Entry; file: string };
    expect([code, where]).toEqual([0, "cardea.jsonc"]);
    expect(JSON.parse(text())).toEqual({ mcpServers: {}, auth: { keys: [entry] } });
    expect(said).toContain("It is the first: from now on every host over HTTP needs a key.");
  });

  test("list prints principal and expiry of each key, and not the whole hash", async () => {
    expect((await run("list")).out).toBe(
      "alice  staff      never expires       sha256:aaaaaaaa\n" +
        "bob    no groups  EXPIRED 2026-01-01  sha256:bbbbbbbb\n" +
        "alice  no groups  expires 2027-01-01  sha256:cccccccc\n",
    );
    const rows = JSON.parse((await run("list", "--json")).out) as unknown[];
    expect(rows[0]).toEqual({ id: "alice", groups: ["staff"], hash: ALICE, expired: false });
    expect(rows[1]).toMatchObject({ id: "bob", expires: "2026-01-01", expired: true });
  });

  test("revoke removes all keys of a principal and keeps the other comments", async () => {
    const { code, said } = await run("revoke", "alice");
    expect([code, said]).toEqual([
      0,
      ['Revoked 2 keys of "alice" in cardea.jsonc. A running gateway takes the change over by itself.'],
    ]);
    expect(text()).toBe(
      CONFIG.split("\n")
        .filter((line) => !line.includes('"alice"'))
        .join("\n"),
    );
  });

  test("revoke suggests the nearest name for an unknown one", async () => {
    expect(await run("revoke", "alicia")).toEqual({
      code: 1,
      out: "",
      said: ['error: there is no key of "alicia" in cardea.jsonc; did you mean "alice"?'],
    });
  });

  test("revoke removes the last key too, and says that no host is let in then", async () => {
    await run("revoke", "alice");
    const { code, said } = await run("revoke", "bob");
    expect(code).toBe(0);
    expect(said[0]).toContain("No key is left, so no host is let in; cardea key --add --id NAME makes one.");
    expect((await run("list")).said[0]).toContain("There are no keys in cardea.jsonc");
    const read = readConfig(text(), "cardea.jsonc", { env: { UNSET: "set" } });
    expect(read.ok && read.config.auth?.keys).toEqual([]);
  });

  test("can be edited in a YAML file", async () => {
    writeFileSync(
      join(folder, "c.yaml"),
      `auth:\n  keys:\n    # people\n    - id: bob\n      hash: ${ALICE}\n`,
    );
    expect((await run("--add", "--id", "ci", "--config", "c.yaml")).code).toBe(0);
    expect((await run("revoke", "bob", "--config", "c.yaml")).code).toBe(0);
    expect((await run("list", "--config", "c.yaml")).out).toMatch(/^ci {2}no groups {2}never expires/);
  });

  test.each([
    ["{ ", "cardea.jsonc", "error: cardea.jsonc:1:3: a closing } is missing"],
    ["[]", "cardea.jsonc", "error: cardea.jsonc:1:1: a config is an object"],
    ['{ "auth": { "keys": {} } }', "cardea.jsonc", "error: cardea.jsonc is left as it was: "],
    [
      '{ "mcpServers": {} }',
      "mcp.json",
      "error: mcp.json:1:1: this is a host's own file, which holds no keys",
    ],
  ])("--add keeps %s in %s", async (content, name, message) => {
    writeFileSync(join(folder, name), content);
    const { code, out, said } = await run("--add", "--config", name);
    expect([code === 0, out]).toEqual([false, ""]);
    expect(said[0]).toContain(message);
    expect(readFileSync(join(folder, name), "utf8")).toBe(content);
  });
});
