/** The commands of docs/backup.md, run as they are written: what they copy out of one folder works in another one. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { identityOf } from "../../src/config/server-identity.js";
import { SILENT } from "../../src/core/logger.js";
import { ChainFile } from "../../src/features/audit/chain-file.js";
import { ListFiles } from "../../src/features/kept-lists/list-files.js";
import { openVault } from "../../src/features/vault/vault.js";
import { fencesOf } from "../docs/follow.js";
import { credential } from "../features/vault/credentials.js";
import { MAIN } from "../support/cardea.js";
import { serverConfig } from "../support/fake-channel.js";

const [BACKUP = "", RESTORE = ""] = fencesOf("docs/backup.md")
  .filter(({ language }) => language === "sh")
  .map(({ text }) => text);
const ROTATE = { sizeBytes: 1e9 };
const SERVER = { name: "files", identity: identityOf(serverConfig({})) };

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "cardea-backup-"));
  const bin = join(home, "bin");
  mkdirSync(bin);
  writeFileSync(join(bin, "cardea"), `#!/bin/sh\nexec "${process.execPath}" "${MAIN}" "$@"\n`);
  chmodSync(join(bin, "cardea"), 0o755);
});
afterEach(() => rmSync(home, { recursive: true }));

/** A folder with a config; its state is in `state/cardea`. */
function place(name: string): { readonly folder: string; readonly state: string } {
  const folder = join(home, name);
  const state = join(folder, "state", "cardea");
  mkdirSync(folder);
  return { folder, state };
}

/** Runs the commands of the page; the output of all of them. */
function sh(commands: string, { folder }: { readonly folder: string }): string {
  const { status, stdout, stderr } = spawnSync("sh", ["-ec", commands], {
    cwd: folder,
    encoding: "utf8",
    env: {
      PATH: `${join(home, "bin")}:${process.env.PATH}`,
      HOME: folder,
      XDG_STATE_HOME: join(folder, "state"),
    },
  });
  if (status !== 0) throw new Error(`${commands} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

const vaultIn = (state: string) => openVault({ folder: join(state, "credentials"), logger: SILENT });
const listsIn = (state: string) =>
  new ListFiles({ folder: join(state, "lists"), version: "1.2.3", log: SILENT }).open(SERVER);

/** A sign-in, the list of a server, and three lines of the audit log, the last one written while a gateway runs. */
async function fill({
  folder,
  state,
}: {
  readonly folder: string;
  readonly state: string;
}): Promise<ChainFile> {
  writeFileSync(join(folder, "cardea.jsonc"), '{ "mcpServers": {}, "audit": { "file": "audit.jsonl" } }');
  const vault = await vaultIn(state);
  await vault.write(credential());
  const items = [{ name: "read", inputSchema: { type: "object" } }];
  const list = {
    items,
    malformed: [],
    freshness: { ttlMs: 0, scope: "private" as const },
    hasTtl: false,
    fetchedAt: 5,
  };
  const kept = listsIn(state);
  kept.followLists(() => ({ startFailed: false, scopes: new Map([["shared", new Map([["tools", list]])]]) }));
  kept.changed();
  await kept.close();
  const chain = await ChainFile.open({ file: join(folder, "audit.jsonl"), rotate: ROTATE });
  chain.append([{ kind: "start" }, { kind: "call" }, { kind: "call" }]);
  return chain;
}

/** Without the commands that look at what was copied. */
const onlyCopying = (commands: string): string => commands.replace(/^cardea .*$/gm, "");

/** A copied backup, as it is found on another machine. */
function restored(from: { readonly folder: string }): { readonly folder: string; readonly state: string } {
  const there = place("there");
  sh(`cp -r "${join(from.folder, "backup")}" .`, there);
  return there;
}

test("a backup made while the gateway writes is restored: sign-in, lists and audit log continue", async () => {
  const here = place("here");
  const chain = await fill(here);
  expect(sh(BACKUP, here)).toMatch(/^ok .*3 lines/);
  await chain.close();

  const there = restored(here);
  const said = sh(RESTORE, there);
  expect(said).toMatch(/^ok .*3 lines/m);
  expect(said).toContain("linear");
  const vault = await vaultIn(there.state);
  expect((await vault.read("linear", "ann"))?.tokens?.accessToken).toBe("access-1");
  const known = listsIn(there.state).known?.scopes.get("shared")?.get("tools")?.items;
  expect(known?.map(({ name }) => name)).toEqual(["read"]);
  const next = await ChainFile.open({ file: join(there.folder, "audit.jsonl"), rotate: ROTATE });
  expect([next.found, next.position.seq]).toEqual(["whole", 3]);
  await next.close();
});

test("without the key of the vault the sign-in is not lost without a word: the error names the key file", async () => {
  const here = place("here");
  await (await fill(here)).close();
  sh(onlyCopying(BACKUP), here);
  const there = restored(here);
  sh(onlyCopying(RESTORE), there);
  rmSync(join(there.state, "credentials.key"));
  const vault = await vaultIn(there.state);
  await expect(vault.read("linear", "ann")).rejects.toThrow(
    "credentials.key (there is none): put that key back",
  );
  expect(existsSync(join(there.state, "credentials"))).toBe(true);
});
