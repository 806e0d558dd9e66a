/** Which tests start this program, a browser or a store? They take a third of the time of all, and wait for what a machine does meanwhile. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What such a test imports. */
const STARTS_PROGRAMS =
  /\b(?:MAIN|startServing|serve\w*)\b.*support\/cardea\.js"|support\/(?:browser|redis|processes)\.js"/;

/** Their paths in the tree `folder`, such as `test/cli/stop.test.ts`; sorted. */
export const programTests = (folder) =>
  readdirSync(join(folder, "test"), { recursive: true, encoding: "utf8" })
    .map((path) => `test/${path.replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(".test.ts"))
    .filter((path) => STARTS_PROGRAMS.test(readFileSync(join(folder, path), "utf8")))
    .sort();
