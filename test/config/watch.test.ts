import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ConfigWatch, type FileContent, watchConfig } from "../../src/config/watch.js";

let watch: ConfigWatch | undefined;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cardea-watch-"));
});
afterEach(() => {
  watch?.close();
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

describe("a file on the disk", () => {
  /** Resolves with the next content that the watch tells. */
  function following(file: string, current: string): () => Promise<FileContent> {
    const told: FileContent[] = [];
    const waiting: ((content: FileContent) => void)[] = [];
    const tell = (content: FileContent): void => {
      const next = waiting.shift();
      if (next === undefined) told.push(content);
      else next(content);
    };
    // No polling: the change itself must be noticed.
    watch = watchConfig(file, tell, { current, settleMs: 20, pollMs: 3_600_000 });
    return () =>
      new Promise((resolve) => {
        const content = told.shift();
        if (content === undefined) waiting.push(resolve);
        else resolve(content);
      });
  }

  test("is read again when it is written, replaced, removed and put back", async () => {
    const file = join(folder, "cardea.json");
    writeFileSync(file, "one");
    const next = following(file, "one");
    writeFileSync(file, "two");
    expect(await next()).toEqual({ text: "two" });
    writeFileSync(join(folder, "new"), "three");
    renameSync(join(folder, "new"), file);
    expect(await next()).toEqual({ text: "three" });
    rmSync(file);
    expect(await next()).toMatchObject({ problems: [{ message: expect.stringContaining("no such file") }] });
    writeFileSync(file, "four");
    expect(await next()).toEqual({ text: "four" });
  });

  test("is read again when the link beside it is swapped, as Kubernetes does", async () => {
    const file = join(folder, "cardea.json");
    for (const version of ["v1", "v2"]) {
      mkdirSync(join(folder, version));
      writeFileSync(join(folder, version, "cardea.json"), version);
    }
    symlinkSync("v1", join(folder, "..data"));
    symlinkSync("..data/cardea.json", file);
    const next = following(file, "v1");
    symlinkSync("v2", join(folder, "..data_tmp"));
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"));
    expect(await next()).toEqual({ text: "v2" });
  });
});

describe("in time", () => {
  const SETTLE = 100;
  const POLL = 5_000;
  let content: FileContent = { text: "one" };
  let told: FileContent[] = [];
  beforeEach(() => {
    vi.useFakeTimers();
    content = { text: "one" };
    told = [];
    // There is no such folder, so there are no fs events: only polling helps.
    const file = join(folder, "gone", "cardea.json");
    const read = (): Promise<FileContent> => Promise.resolve(content);
    watch = watchConfig(file, (now) => told.push(now), {
      current: "one",
      settleMs: SETTLE,
      pollMs: POLL,
      read,
    });
  });

  test("a change without an fs event is found at the next poll", async () => {
    content = { text: "two" };
    await vi.advanceTimersByTimeAsync(POLL - 1);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(1 + SETTLE);
    expect(told).toEqual([{ text: "two" }]);
  });

  test("no change is reported when the content is the same", async () => {
    await vi.advanceTimersByTimeAsync(10 * POLL);
    expect(told).toEqual([]);
  });

  test("a half written file is waited for", async () => {
    content = { text: "tw" };
    await vi.advanceTimersByTimeAsync(POLL);
    content = { text: "two" };
    await vi.advanceTimersByTimeAsync(SETTLE);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(SETTLE);
    expect(told).toEqual([{ text: "two" }]);
  });

  test("a change that is reverted before it settles is not reported", async () => {
    content = { text: "two" };
    await vi.advanceTimersByTimeAsync(POLL);
    content = { text: "one" };
    await vi.advanceTimersByTimeAsync(10 * POLL);
    expect(told).toEqual([]);
  });

  test("a requested check reports the content even when it is the same", async () => {
    watch?.check();
    await vi.advanceTimersByTimeAsync(3 * SETTLE);
    expect(told).toEqual([{ text: "one" }]);
  });

  test("after close it reports nothing and keeps no timer", async () => {
    content = { text: "two" };
    await vi.advanceTimersByTimeAsync(POLL);
    watch?.close();
    await vi.advanceTimersByTimeAsync(10 * POLL);
    expect(told).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("a failed read is followed by others", async () => {
  vi.useFakeTimers();
  let reads = 0;
  const told: FileContent[] = [];
  watch = watchConfig(join(folder, "cardea.json"), (content) => told.push(content), {
    current: "one",
    read: async () => {
      reads += 1;
      if (reads === 1) throw new Error("out of descriptors");
      return { text: "two" };
    },
  });
  await vi.advanceTimersByTimeAsync(20_000);
  expect(told).toEqual([{ text: "two" }]);
});
