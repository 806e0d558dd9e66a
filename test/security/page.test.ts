/** docs/threat-model.md says which test checks what; each of them must be there. */
import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";

const page = readFileSync(inRepository("docs/threat-model.md"), "utf8");
const rows = [...page.matchAll(/^\| (\d+) \| .* \| (.*) \|$/gm)].map(([, number, checks = ""]) => ({
  number: Number(number),
  checks,
}));

test("every attack of docs/threat-model.md that needs a test has one", () => {
  expect(rows.map(({ number }) => number)).toEqual(
    expect.arrayContaining([
      5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 29,
    ]),
  );
  for (const { number, checks } of rows)
    expect([number, checks]).toEqual([number, expect.stringContaining(".test.ts")]);
});

test("every test title and script that docs/threat-model.md names exists", () => {
  const missing = rows.flatMap(({ number, checks }) =>
    [...checks.matchAll(/`([^`]+)`((?:,? "[^"]+")*)/g)].flatMap(([check, file = "", quoted = ""]) => {
      const isTest = file.endsWith(".test.ts");
      const path = inRepository(isTest ? `test/${file}` : file);
      const titles = [...quoted.matchAll(/"([^"]+)"/g)].map(([, title = ""]) => title);
      if (!existsSync(path) || (isTest && titles.length === 0)) return [`${number}: ${check}`];
      const text = readFileSync(path, "utf8");
      return titles.filter((title) => !text.includes(title)).map((title) => `${number}: ${file}: ${title}`);
    }),
  );
  expect(rows.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});
