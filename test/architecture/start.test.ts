/** What is loaded before a gateway serves: each package is a part of its cold start (`npm run bench:economy`). */
import { expect, test } from "vitest";
import { importsOf } from "./imports.js";

/** What `cardea serve` loads, by `import()` as well. */
const LOADED = [
  "main.ts",
  "cli/serve.ts",
  "telemetry/logger.ts",
  "gateway/gateway.ts",
  "upstream/supervision/orphans.ts",
];

test("a gateway of stdio servers loads no HTTP client, no router and no metrics of the process before it serves", () => {
  const imports = importsOf("src").filter(({ typeOnly, dynamic }) => !typeOnly && !dynamic);
  const loaded = new Set(LOADED);
  // Growing while it is walked.
  for (const file of loaded) {
    for (const { file: from, target } of imports) if (from === file) loaded.add(target);
  }
  const packages = [...loaded].filter((name) => !name.endsWith(".ts") && !name.startsWith("node:"));
  // `undici` is loaded by runtime/undici.ts and `prom-client` by telemetry/prometheus.ts, which take what they need.
  expect(packages.sort()).toEqual([
    "commander",
    "cross-spawn",
    "jsonc-parser",
    "lru-cache",
    "p-queue",
    "pino",
    "zod",
  ]);
});
