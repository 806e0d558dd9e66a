/** How long files and tests took: build/durations.json, the slowest files on stderr. A report; nothing is compared with it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

const REPORT = "build/durations.json";
/** Files that are named on stderr, of a run of many. */
const SLOWEST = 12;

const rowOf = (module: TestModule) => ({
  file: relative(process.cwd(), module.moduleId),
  project: module.project.name,
  ms: Math.round(module.diagnostic().duration),
  tests: [...module.children.allTests()].map((test) => ({
    name: test.fullName,
    ms: Math.round(test.diagnostic()?.duration ?? 0),
  })),
});

export default class Durations implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = modules.map(rowOf).sort((a, b) => b.ms - a.ms);
    mkdirSync(dirname(REPORT), { recursive: true });
    writeFileSync(REPORT, JSON.stringify(rows, null, 1));
    if (rows.length <= SLOWEST) return;
    const lines = rows.slice(0, SLOWEST).map(({ ms, file }) => `  ${(ms / 1_000).toFixed(1)} s ${file}`);
    console.error(`the slowest of ${rows.length} files (${REPORT} has each):\n${lines.join("\n")}`);
    console.error(`sample of the matrices: CARDEA_SAMPLE=${process.env.CARDEA_SAMPLE} draws it again`);
  }
}
