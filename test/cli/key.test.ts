import { createHash } from "node:crypto";
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
  test("prints a key of 256 random bits, and what of it goes into the config", async () => {
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

  test("finds a name where none is given", async () => {
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
  ])("%s %s is wrong usage", async (flag, value) => {
    const shell = fakeShell();
    expect(await runCommandLine(["key", flag, value], shell)).toBe(2);
    expect([shell.out(), shell.said[0]]).toEqual(["", expect.stringContaining(`error: ${flag} takes`)]);
  });

  test("flags have variables", async () => {
    const { entry } = await made(["--id", "flag"], {
      CARDEA_ID: "env",
      CARDEA_GROUPS: "a,b",
      CARDEA_EXPIRES: "",
    });
    expect(entry).toMatchObject({ id: "flag", groups: ["a", "b"] });
    expect(entry).not.toHaveProperty("expires");
  });

  test("prints one JSON document where that is asked for", async () => {
    const shell = fakeShell();
    expect(await runCommandLine(["key", "--json", "--id", "ci"], shell)).toBe(0);
    const { key, entry } = JSON.parse(shell.out()) as { key: string; entry: Entry };
    expect([key.length, entry.id, shell.said]).toEqual([50, "ci", []]);
  });
});
