/** No test is held against a clock: on a busy machine it would fail by chance (CONTRIBUTING.md, "Tests without a clock"). */
import { expect, test } from "vitest";
import { filesOf } from "./imports.js";

/** Reads a clock to measure with it. */
const MEASURES = /performance\.now\(|process\.(?:hrtime|cpuUsage)|Date\.now\(\) -|- Date\.now\(\)/;
/** Lets real time pass. */
const SLEEPS = /\bsetTimeout\(|setTimeout as |setInterval\(/;
/** Where time is injected, both are about that time. */
const INJECTS = /vi\.useFakeTimers\(|^fakeTime\(\);$/m;

/** The files that do either in real time, and why none of them can fail by chance. */
const REASONS: Readonly<Record<string, string>> = {
  "features/packages/registry.ts": "npm compares the days since versions were published with its own clock",
  "support/until.ts": "its limit only ends what hangs",
  "support/processes.ts": "its limit only ends what hangs",
  "support/peers/raw.ts": "its limit only ends what hangs",
  "support/fake-channel.ts": "its users inject time",
  "support/fake-upstream.ts": "its users inject time",
  "features/cluster/limited-replicas.ts": "its users inject time",
  "features/cluster/replicas.ts": "the clock of a replica, which tests set",
  "upstream/life-cycle/world.ts": "its users inject time",
  "security/slow-clients.test.ts": "the clients drip; nothing is expected at a time",
  "upstream/transport/stdio.test.ts": "the gateway writes on and on; nothing is expected at a time",
  "real/startup.test.ts": "a server that never answers",
  "cli/doctor.test.ts": "a server that never answers",
  "runtime/cooperative-yield.test.ts": "which of two timers is due first; nothing is expected at a time",
  "cli/process.test.ts": "a process that lasts until it is ended",
  "upstream/transport/pid-file-registry.test.ts": "a process that lasts until it is ended",
  "runtime/process-start-times.test.ts": "a process that lasts until it is ended",
};

/** Limits that end what hangs, in ms: of waits, of tests, of signals. */
const LIMITS = [
  /\btimeout: ([\d_]+)\b/g,
  /^ *\}, ([\d_]{4,})\);$/gm,
  /AbortSignal\.timeout\(([\d_]+)\)/g,
  /\blimitMs = ([\d_]+)/g,
];
const LEAST_LIMIT = 60_000;
/** Without a timeout of its own it ends after a second. */
const IMPATIENT = /vi\.wait(?:For|Until)\((?![^;]*timeout: )/;

const FILES = filesOf("test").filter(({ file }) => file !== "architecture/clocks.test.ts");

/** `features/NAME`, of which a build may be without; undefined for other files. */
const folderOfFeature = (file: string): string | undefined => /^features\/[^/]+/.exec(file)?.[0];

/** What is wrong with a file; empty where nothing is. */
function faultsOf(text: string): readonly string[] {
  const faults: string[] = [];
  if (!INJECTS.test(text)) {
    if (MEASURES.test(text)) faults.push("measures real time");
    if (SLEEPS.test(text)) faults.push("lets real time pass");
  }
  for (const limit of LIMITS) {
    for (const [whole, number = ""] of text.matchAll(limit)) {
      if (Number(number.replaceAll("_", "")) < LEAST_LIMIT) faults.push(`a short limit: ${whole.trim()}`);
    }
  }
  if (IMPATIENT.test(text)) faults.push("waits for a second only");
  return faults;
}

test("no file in test/ compares with a wall clock", () => {
  const allowed = ["measures real time", "lets real time pass"];
  const wrong = FILES.map(({ file, text }) => {
    return [file, faultsOf(text).filter((fault) => !(file in REASONS && allowed.includes(fault)))] as const;
  });
  expect(wrong.filter(([, faults]) => faults.length > 0)).toEqual([]);
});

test("every exception of the clock rule is still needed", () => {
  const needed = FILES.filter(({ text }) => faultsOf(text).length > 0).map(({ file }) => file);
  const folders = new Set(FILES.map(({ file }) => folderOfFeature(file)));
  // A build may be without a feature, and without the tests that ask the listener for operators.
  const hasAll = folders.has("features/admin");
  const inBuild = Object.keys(REASONS).filter(
    (file) => folders.has(folderOfFeature(file)) && (hasAll || FILES.some((each) => each.file === file)),
  );
  expect(needed.sort()).toEqual(inBuild.sort());
});

test.each([
  ["const begun = performance.now();", ["measures real time"]],
  ["expect(Date.now() - begun).toBeLessThan(5)", ["measures real time"]],
  ["const { user } = process.cpuUsage();", ["measures real time"]],
  ["await new Promise((done) => setTimeout(done, 5));", ["lets real time pass"]],
  ['import { setTimeout as pause } from "node:timers/promises";', ["lets real time pass"]],
  ["vi.useFakeTimers(); setTimeout(give, 5);", []],
  ["await vi.waitFor(() => expect(said).toBe(1));", ["waits for a second only"]],
  ["await vi.waitFor(() => expect(said).toBe(1), { timeout: 60_000 });", []],
  ["await vi.waitFor(() => expect(said).toBe(1), { timeout: 5_000 });", ["a short limit: timeout: 5_000"]],
  ['test("x", () => {\n}, 5_000);', ["a short limit: }, 5_000);"]],
])("the clock rule finds the uses in %s", (text, faults) => {
  expect(faultsOf(text)).toEqual(faults);
});
