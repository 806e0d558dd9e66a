/** Do the files exist that ARCHITECTURE.md and docs/tests.md name? */
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const page = readFileSync(new URL("ARCHITECTURE.md", root), "utf8");

test("every file and folder that ARCHITECTURE.md names exists", () => {
  const named = [...page.matchAll(/`((?:[\w-]+\/)*[\w-]+(?:\.ts|\/))`/g)].map(([, path]) => path ?? "");
  const missing = named.filter(
    (path) => !existsSync(new URL(`src/${path}`, root)) && !existsSync(new URL(path, root)),
  );
  expect(named.length).toBeGreaterThan(40);
  expect(missing).toEqual([]);
});

test("every test that docs/tests.md names exists", () => {
  const tests = readFileSync(new URL("docs/tests.md", root), "utf8");
  const named = [...tests.matchAll(/`((?:[\w-]+\/)*[\w.-]+\.test\.ts)`/g)].map(([, path]) => path ?? "");
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((path) => !existsSync(new URL(`test/${path}`, root)))).toEqual([]);
});
