/** Runs for each test file: many files share a process, and each leaves it as it was. */
import { afterAll, expect, vi } from "vitest";

/** What a file could change for those after it. */
const shared = () => ({
  env: { ...process.env },
  cwd: process.cwd(),
  hasFakeTimers: vi.isFakeTimers(),
  fetch: globalThis.fetch,
  listeners: process.eventNames().map((name) => [name, process.listenerCount(name)]),
});

const before = shared();

afterAll(async () => {
  // Files share loaded modules: one that is not loaded when its file ends would fail for all files after it.
  await vi.dynamicImportSettled();
  expect(shared(), "what the file has left behind in the process").toEqual(before);
});
