/** What is done about processes that an earlier gateway left behind. */
import { expect, test, vi } from "vitest";
import { type LogFields, SILENT } from "../../../src/core/logger.js";
import { handleOrphans } from "../../../src/upstream/supervision/orphans.js";
import type { Orphan } from "../../../src/upstream/transport/process-group.js";
import { fakeTime } from "../../support/fake-time.js";

fakeTime();

const docile: Orphan = { pid: 11, server: "files", command: "node files.js" };
const stubborn: Orphan = { pid: 12, server: "db", command: "node db.js" };

/** A ledger of these, and what was said and done about them. */
function ledgerOf(...orphans: Orphan[]) {
  const living = new Set(orphans);
  const said: [LogFields, string][] = [];
  return {
    living,
    said,
    log: { ...SILENT, warn: (fields: LogFields, sentence: string) => void said.push([fields, sentence]) },
    ledger: {
      orphans: async () => [...living],
      end: async (orphan: Orphan) => void living.delete(orphan),
    },
  };
}

test("processes that exit are not reported, the others are named", async () => {
  const { ledger, log, living, said } = ledgerOf(docile, stubborn);
  await handleOrphans(ledger, false, log);
  living.delete(docile);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(said).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(said).toEqual([[stubborn, expect.stringContaining("--reap ends such processes")]]);
  expect([...living]).toEqual([stubborn]);
});

test("with --reap all are killed before anything else", async () => {
  const { ledger, log, living, said } = ledgerOf(docile, stubborn);
  await handleOrphans(ledger, true, log);
  expect([...living]).toEqual([]);
  expect(said.map(([{ pid }]) => pid)).toEqual([11, 12]);
});

test("without orphans there is no wait", async () => {
  const { ledger, log } = ledgerOf();
  await handleOrphans(ledger, false, log);
  expect(vi.getTimerCount()).toBe(0);
});
