import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { samplesOf } from "./test/support/sample.js";

/** The order of files and tests is that of this seed; without one it is as written. */
const order = process.env.CARDEA_ORDER;

/** Which cases of the matrices run is that of this seed (test/support/sample.ts). */
process.env.CARDEA_SAMPLE ??= String(Math.floor(Math.random() * 100_000));

/**
 * What needs processes of its own, by what a file contains; the first that fits counts. A heap is measured without what other files
 * have left in it, and a module is replaced before something imports it: a process for each file. V8 counts the blocks of functions
 * that are compiled after it was asked to, and timers are counted without those of connections that other files have closed just
 * now: such files share processes with each other.
 */
const KINDS = [
  { kind: "apart", contains: /support\/heap\.js"|\bvi\.mock\(/, isolate: true },
  { kind: "steps", contains: /support\/steps\.js"/, isolate: false },
  { kind: "timers", contains: /\bvi\.getTimerCount\(/, isolate: false },
  { kind: "together", contains: /(?:)/, isolate: false },
] as const;

/** These do not ask how tools are called (test/support/through.ts): a second time would be the first one again. */
const ONCE_ONLY = new Set([
  "test/scenarios/questions/table.test.ts",
  ...[
    ...["attacks", "circuit-breaker", "concurrency", "deadline", "error-boundary", "measured-json", "reload"],
    ...["methods", "retry", "sealed-state", "limits/parallel-clients", "limits/quota", "limits/token-bucket"],
  ].map((name) => `test/features/policy/${name}.test.ts`),
]);

/** `npm run test:all` */
const takesAll = process.env.CARDEA_TEST_ALL === "1";

/** The test files in these folders; a build may be without the one of a feature. */
const testsIn = (folders: readonly string[], recursive = false): readonly string[] =>
  folders
    .filter((folder) => existsSync(join(import.meta.dirname, folder)))
    .flatMap((folder) =>
      readdirSync(join(import.meta.dirname, folder), { recursive, encoding: "utf8" })
        .filter((path) => path.endsWith(".test.ts"))
        .map((path) => posix.join(folder, path.replaceAll("\\", "/"))),
    );

/**
 * What runs a second time, with hosts that call every tool through `call_tool`: by default the matrix of questions for one kind
 * of host; test/features/tool-search/call-tool has the property that all the others are instances of.
 */
const throughCallTool = (): readonly string[] => {
  const hosts = testsIn(["test/scenarios/questions"]).filter((file) => !ONCE_ONLY.has(file));
  const samples = samplesOf(Number(process.env.CARDEA_SAMPLE), takesAll);
  const policy = testsIn(["test/features/policy", "test/features/policy/limits"]).filter(
    (file) => !ONCE_ONLY.has(file),
  );
  return [...(takesAll ? policy : []), ...samples.sample("hosts that call through call_tool", hosts, 1)];
};

/**
 * Starting a process and loading the gateway costs more than most files, so that a process runs one file after the other, and
 * each must leave it as it was (test/support/left-behind.ts). A process serves one project only.
 */
function projects(
  name: string,
  groupOrder: number,
  files: readonly string[],
  env: Record<string, string> = {},
): TestProjectInlineConfiguration[] {
  const kindOf = (file: string): string | undefined => {
    const text = readFileSync(join(import.meta.dirname, file), "utf8");
    return KINDS.find(({ contains }) => contains.test(text))?.kind;
  };
  return KINDS.map(({ kind, isolate }) => ({
    extends: true,
    test: {
      name: kind === "together" ? name : `${name}, ${kind}`,
      include: files.filter((file) => kindOf(file) === kind),
      env,
      ...(isolate ? {} : { isolate, setupFiles: ["test/support/left-behind.ts"] }),
      sequence: { groupOrder: kind === "together" ? groupOrder : groupOrder + 1 },
    },
  }));
}

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/durations.ts"],
    globalSetup: ["test/support/fresh-state.ts", "test/support/unpacked-browser.ts"],
    // These only end what hangs: the machine may be slow, or busy with something else.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    // One more than CI has cores: tests wait for processes and timers a third of their time.
    maxWorkers: 3,
    // Transformed modules by their content, in node_modules.
    experimental: { fsModuleCache: true },
    sequence: order === undefined ? {} : { shuffle: { files: true, tests: true }, seed: Number(order) },
    projects: [
      ...projects("all", 0, testsIn(["test"], true)),
      ...projects("through call_tool", 2, throughCallTool(), { CARDEA_TEST_THROUGH: "call_tool" }),
    ],
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary"] },
  },
});
