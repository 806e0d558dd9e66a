/** Commands find the gateway that serves their config by a file that only its user can read. */
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { gatewayOfConfig, runningGateways, writeRunFile } from "../../src/cli/run-files.js";
import { SILENT } from "../../src/core/logger.js";
import { stateFolder } from "../../src/state/state-folder.js";

let home: string;
let env: { CARDEA_STATE_DIR: string };
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "cardea-run-"));
  env = { CARDEA_STATE_DIR: join(home, "state") };
});
afterEach(() => rm(home, { recursive: true }));

const URLS = { url: "http://127.0.0.1:1/mcp", adminUrl: "http://127.0.0.1:2" };
const run = (): string => join(env.CARDEA_STATE_DIR, "run");
const files = (): readonly string[] => readdirSync(run());
/** Above the largest pid of Linux. */
const DEAD = 2 ** 22 + 1;

/** The file of this process. */
const own = (): string => join(run(), files().find((name) => name.startsWith(`${process.pid}-`)) ?? "");

async function change(members: object): Promise<void> {
  const text = readFileSync(own(), "utf8");
  writeFileSync(own(), JSON.stringify({ ...JSON.parse(text), ...members }));
}

describe("the run file", () => {
  test("is readable by its user only, exists while the gateway runs, and is deleted afterwards", async () => {
    const gateway = { ...URLS, pid: process.pid, config: join(home, "cardea.json"), token: "t" };
    const remove = await writeRunFile(env, gateway, SILENT);
    const [name = ""] = files();
    expect(statSync(join(run(), name)).mode & 0o777).toBe(0o600);
    expect(statSync(run()).mode & 0o777).toBe(0o700);
    expect(await runningGateways(env)).toEqual([gateway]);
    await remove();
    expect(await runningGateways(env)).toEqual([]);
    expect(files()).toEqual([]);
  });

  test("belongs to one config, by any path to it", async () => {
    const [config, other, link] = ["cardea.json", "other.json", "link.json"].map((name) =>
      join(home, name),
    ) as [string, string, string];
    writeFileSync(config, "{}");
    writeFileSync(other, "{}");
    symlinkSync(config, link);
    const remove = await writeRunFile(env, { ...URLS, pid: process.pid, config }, SILENT);
    expect((await gatewayOfConfig(env, link))?.url).toBe(URLS.url);
    expect(await gatewayOfConfig(env, other)).toBeUndefined();
    await remove();
  });

  test("of a killed gateway is deleted, and one of another container is kept", async () => {
    await writeRunFile(env, { ...URLS, pid: DEAD }, SILENT);
    const [name = ""] = files();
    const elsewhere = {
      ...JSON.parse(readFileSync(join(run(), name), "utf8")),
      scope: "another",
      host: "another",
    };
    writeFileSync(join(run(), "elsewhere.json"), JSON.stringify(elsewhere));
    writeFileSync(join(run(), "broken.json"), "{");
    expect(await runningGateways(env)).toEqual([]);
    expect(files().toSorted()).toEqual(["broken.json", "elsewhere.json"]);
  });

  test("of an earlier boot of this host is deleted", async () => {
    const remove = await writeRunFile(env, { ...URLS, pid: process.pid }, SILENT);
    await change({ scope: "another", boot: "earlier" });
    expect(await runningGateways(env)).toEqual([]);
    expect(files()).not.toContainEqual(expect.stringMatching(/^\d/));
    await remove();
  });

  test("of a reused pid is deleted", async () => {
    await writeRunFile(env, { ...URLS, pid: process.pid }, SILENT);
    await change({ began: "1" });
    expect(await runningGateways(env)).toEqual([]);
    expect(files()).not.toContainEqual(expect.stringMatching(/^\d/));
  });

  test("that other users could have written is ignored", async () => {
    const remove = await writeRunFile(env, { ...URLS, pid: process.pid }, SILENT);
    const file = own();
    chmodSync(file, 0o620);
    expect(await runningGateways(env)).toEqual([]);
    chmodSync(file, 0o600);
    expect(await runningGateways(env)).toHaveLength(1);
    renameSync(file, join(home, "moved.json"));
    symlinkSync(join(home, "moved.json"), file);
    expect(await runningGateways(env)).toEqual([]);
    await remove();
  });

  test.skipIf(process.getuid?.() !== 0)("of another user is ignored", async () => {
    const remove = await writeRunFile(env, { ...URLS, pid: process.pid }, SILENT);
    chownSync(own(), 4321, 4321);
    expect(await runningGateways(env)).toEqual([]);
    await remove();
  });

  test("never sends commands or tokens to another machine", async () => {
    const gateway = { ...URLS, pid: process.pid, token: "t" };
    const remove = await writeRunFile(env, gateway, SILENT);
    await change({ adminUrl: "http://gateway.example:9090" });
    expect(await runningGateways(env)).toEqual([{ url: URLS.url, pid: process.pid }]);
    for (const url of [
      "http://192.0.2.1:1/mcp",
      "https://127.0.0.1:1/mcp",
      "http://127.0.0.1@evil.example/",
    ]) {
      await change({ url });
      expect(await runningGateways(env)).toEqual([]);
    }
    await remove();
  });

  test("of a gateway that listens on all addresses names loopback", async () => {
    const all = { url: "http://0.0.0.0:1/mcp", adminUrl: "http://[::]:2", pid: process.pid };
    const remove = await writeRunFile(env, all, SILENT);
    const [found] = await runningGateways(env);
    expect([found?.url, found?.adminUrl]).toEqual(["http://127.0.0.1:1/mcp", "http://[::1]:2"]);
    await remove();
  });

  test("is not written through a link of another program", async () => {
    const victim = join(home, "victim");
    writeFileSync(victim, "kept");
    const remove = await writeRunFile(env, { ...URLS, pid: process.pid }, SILENT);
    const file = own();
    await remove();
    for (const link of [file, `${file}.new`]) symlinkSync(victim, link);
    const removeAgain = await writeRunFile(env, { ...URLS, pid: process.pid }, SILENT);
    expect([readFileSync(victim, "utf8"), lstatSync(file).isFile()]).toEqual(["kept", true]);
    await removeAgain();
    await rm(`${file}.new`);
  });

  test("that cannot be written does not stop the gateway", async () => {
    const file = join(home, "file");
    writeFileSync(file, "");
    const remove = await writeRunFile({ CARDEA_STATE_DIR: join(file, "state") }, { ...URLS, pid: 1 }, SILENT);
    await remove();
    expect(existsSync(join(file, "state"))).toBe(false);
  });
});

test("the state folder is CARDEA_STATE_DIR, XDG_STATE_HOME or in the home folder", () => {
  mkdirSync(home, { recursive: true });
  expect(stateFolder({ CARDEA_STATE_DIR: "/a", XDG_STATE_HOME: "/b", HOME: "/c" })).toBe("/a");
  expect(stateFolder({ XDG_STATE_HOME: "/b", HOME: "/c" })).toBe("/b/cardea");
  expect(stateFolder({ HOME: "/c" })).toBe("/c/.local/state/cardea");
});
