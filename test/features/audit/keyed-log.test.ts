/** A log with `audit.key`: what another program writes, which has not the key, is found. */
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { runCommandLine } from "../../../src/cli/program.js";
import { ChainFile } from "../../../src/features/audit/chain-file.js";
import type { AuditEvent } from "../../../src/features/audit/types.js";
import { verifyLog } from "../../../src/features/audit/verify.js";
import { fakeShell } from "../../cli/fake-shell.js";
import { linesOf, NO_ROTATION, newLog } from "./logs.js";

const KEY = "the key of the audit log";
const EVENTS: readonly AuditEvent[] = ["a", "b", "c"].map((target) => ({ kind: "admin", target }));

/** Writes three lines and closes the log. */
async function write(file: string, key: string | undefined, events = EVENTS): Promise<void> {
  const chain = await ChainFile.open({ file, rotate: NO_ROTATION, key });
  chain.append(events);
  await chain.close();
}

const faultsOf = async (file: string, key: string | undefined): Promise<readonly string[]> =>
  (await verifyLog(file, key)).faults.map(({ reason }) => reason);

test("it verifies with its key", async () => {
  const file = newLog();
  await write(file, KEY);
  await write(file, KEY);
  expect(await verifyLog(file, KEY)).toMatchObject({ ok: true, lines: 6, keyedFrom: 1 });
});

test("without the key, or with another one, it does not verify", async () => {
  const file = newLog();
  await write(file, KEY);
  expect(await faultsOf(file, undefined)).toEqual([
    "the log has a key, which is needed to verify it: --config FILE with audit.key, or CARDEA_AUDIT_KEY",
  ]);
  expect(await faultsOf(file, "another key of 24 signs")).toContain("no line was written with the key");
});

test("a log that another program has written, with its head, has no line with the key", async () => {
  const file = newLog();
  await write(file, KEY);
  const forged = newLog();
  await write(forged, undefined, EVENTS.toReversed());
  for (const end of ["", ".head"]) copyFileSync(`${forged}${end}`, `${file}${end}`);
  expect(await faultsOf(file, KEY)).toEqual(["no line was written with the key"]);
});

test("lines that another program has added, with the head for them, are found", async () => {
  const file = newLog();
  await write(file, KEY);
  await write(file, undefined);
  const reasons = await faultsOf(file, KEY);
  expect(reasons).toEqual([
    ...Array.from({ length: 3 }, () => "it was written without the key"),
    "audit.jsonl.head was not written with the key",
  ]);
});

test("lines from before there was a key are in the chain of those after it", async () => {
  const file = newLog();
  await write(file, undefined);
  await write(file, KEY);
  expect(await verifyLog(file, KEY)).toMatchObject({ ok: true, lines: 6, keyedFrom: 4 });
  // The first three are replaced by others, with hashes that match their contents.
  const forged = newLog();
  await write(forged, undefined, EVENTS.toReversed());
  writeFileSync(file, `${[...linesOf(forged), ...linesOf(file).slice(3)].join("\n")}\n`);
  expect(await faultsOf(file, KEY)).toEqual([
    "it does not continue line 3: another log was put in its place",
  ]);
});

test("a shortened log with an old head that is not its own is found", async () => {
  const file = newLog();
  await write(file, KEY);
  writeFileSync(file, `${linesOf(file).slice(0, 2).join("\n")}\n`);
  const head = JSON.parse(readFileSync(`${file}.head`, "utf8")) as object;
  const last = JSON.parse(linesOf(file)[1] ?? "") as { seq: number; hash: string };
  writeFileSync(`${file}.head`, JSON.stringify({ ...head, seq: last.seq, hash: last.hash }));
  expect(await faultsOf(file, KEY)).toEqual(["audit.jsonl.head was not written with the key"]);
});

test("`audit verify` takes the key of the config or of the environment, and says from which line on it is used", async () => {
  const file = newLog();
  await write(file, undefined);
  await write(file, KEY);
  const config = join(dirname(file), "cardea.json");
  writeFileSync(
    config,
    JSON.stringify({ mcpServers: {}, audit: { file: "audit.jsonl", key: "${AUDIT_KEY}" } }),
  );
  const verify = async (args: readonly string[], env: Record<string, string>) => {
    const shell = fakeShell({ env });
    const code = await runCommandLine(["audit", "verify", file, ...args], shell);
    return `${code} ${shell.out()}`.trim();
  };
  const verified = `0 ok    ${file}: 6 lines (1 to 6), with the key from line 4 in 1 file`;
  expect(await verify(["--config", config], { AUDIT_KEY: KEY })).toBe(verified);
  expect(await verify([], { CARDEA_AUDIT_KEY: KEY })).toBe(verified);
  expect(await verify([], {})).toMatch(/^1 FAULT/);
});
