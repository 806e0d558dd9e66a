/** Do the files exist that ARCHITECTURE.md, the pages of features and docs/tests.md name? And does it say what each feature is? */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const page = readFileSync(new URL("ARCHITECTURE.md", root), "utf8");

const FEATURES = readdirSync(new URL("src/features/", root), { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [`src/features/${entry.name}/`] : [],
);

const namedIn = (text: string): readonly string[] =>
  [...text.matchAll(/`((?:[\w-]+\/)*[\w-]+(?:\.ts|\/))`/g)].map(([, path]) => path ?? "");
const missing = (path: string): boolean =>
  !existsSync(new URL(`src/${path}`, root)) && !existsSync(new URL(path, root));

test("every file and folder that ARCHITECTURE.md names exists", () => {
  const named = namedIn(page);
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter(missing)).toEqual([]);
});

test("every file and folder that the page of a feature names exists", () => {
  const pages = FEATURES.map((folder) => new URL(`${folder}README.md`, root)).filter((url) =>
    existsSync(url),
  );
  const named = pages.flatMap((url) => namedIn(readFileSync(url, "utf8")));
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter(missing)).toEqual([]);
});

test.each(FEATURES)("ARCHITECTURE.md has the sentence with which feature.ts of %s begins", (folder) => {
  const text = readFileSync(new URL(`${folder}feature.ts`, root), "utf8");
  const [, comment = ""] = /^\/\*\*\s*(.*?)\s*\*\//s.exec(text) ?? [];
  const sentence = comment.replace(/\s*\n \* ?/g, " ");
  expect(sentence).not.toBe("");
  expect(page).toContain(`| \`${folder.slice("src/".length)}\` | ${sentence} |`);
});

test("every test that docs/tests.md names exists", () => {
  const tests = readFileSync(new URL("docs/tests.md", root), "utf8");
  const named = [...tests.matchAll(/`((?:[\w-]+\/)*[\w.-]+\.test\.ts)`/g)].map(([, path]) => path ?? "");
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((path) => !existsSync(new URL(`test/${path}`, root)))).toEqual([]);
});
