/** The sidebar of the documentation site and the pages of the repository. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";

const config = readFileSync(inRepository("site/.vitepress/config.mjs"), "utf8");
const linked = [...config.matchAll(/page\("[^"]+", "\/([^"]*)"\)/g)].map(([, path]) => path ?? "");

test("every link of the sidebar leads to a page", () => {
  const missing = linked.filter((path) => path !== "" && !existsSync(inRepository(`${path}.md`)));
  expect(linked.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});

test("every page in docs/ is in the sidebar", () => {
  const pages = readdirSync(inRepository("docs")).filter((name) => name.endsWith(".md"));
  expect(pages.map((name) => `docs/${name.slice(0, -3)}`).filter((path) => !linked.includes(path))).toEqual(
    [],
  );
});
