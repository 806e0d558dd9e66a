/** Audit logs of tests: in a folder of their own, written event by event. */
import { mkdtempSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { ChainFile } from "../../../src/features/audit/chain-file.js";
import type { AuditConfig } from "../../../src/features/audit/section.js";
import { verifyLog } from "../../../src/features/audit/verify.js";

/** A path for a log in a new folder, which the end of the test removes. */
export function newLog(): string {
  const folder = mkdtempSync(join(tmpdir(), "cardea-audit-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return join(folder, "audit.jsonl");
}

export const NO_ROTATION: AuditConfig["rotate"] = { sizeBytes: 1e9 };

/** Writes `count` lines and closes the log. */
export async function writeLines(
  file: string,
  count: number,
  rotate: AuditConfig["rotate"] = NO_ROTATION,
): Promise<void> {
  const chain = await ChainFile.open({ file, rotate });
  for (let at = 0; at < count; at++) {
    if (chain.isFull) await chain.rotate();
    chain.append([{ kind: "call", principal: `p${at}`, outcome: "ok", method: "tools/call" }]);
  }
  await chain.close();
}

/** The lines of one file, without newlines. */
export const linesOf = (file: string): readonly string[] =>
  readFileSync(file, "utf8").split("\n").slice(0, -1);

/** What `verify` says: reasons, or nothing. */
export const faultsOf = async (file: string): Promise<readonly string[]> =>
  (await verifyLog(file)).faults.map(({ reason }) => reason);
