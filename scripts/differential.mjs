/**
 * `npm run differential`: odd requests against the whole gateway, checked by other parsers; 100,000, or CARDEA_RUNS.
 */
import { build } from "./build.mjs";
import { root, run } from "./install.mjs";

build();
process.env.CARDEA_RUNS ??= "100000";
const files = process.argv.slice(2);
run(
  `${root}node_modules/.bin/vitest`,
  [
    "run",
    "--maxWorkers=1",
    ...(files.length > 0
      ? files
      : ["test/features/policy/differential", "test/features/openapi/differential"]),
  ],
  {
    stdio: ["ignore", 1, 2],
  },
);
