/** `npm test`: installs what is missing, builds, lints, checks types and runs every test; flags go to vitest. */
import { build } from "./build.mjs";
import { root, run } from "./install.mjs";

const bin = (name) => `${root}node_modules/.bin/${name}`;

/** Types, lint and unused code. Ends this process where something is wrong. */
export function check() {
  run(bin("tsc"), ["-p", "tsconfig.test.json"]);
  run(bin("biome"), ["check", "--error-on-warnings", "."]);
  run(bin("oxlint"), [
    "--type-aware",
    "--deny-warnings",
    "src",
    "test",
    "scripts",
    "bench",
    "faults",
    "cluster",
  ]);
  run(bin("knip"), []);
}

if (import.meta.url === `file://${process.argv[1]}`) {
  build();
  const flags = process.argv.slice(2);
  if (flags.length === 0) check();
  run(bin("vitest"), ["run", ...flags], { stdio: ["ignore", 1, 2] });
}
