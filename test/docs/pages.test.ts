/** A stranger follows the documentation word by word; ports are the ones that the pages name. */
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { readConfig } from "../../src/config/read.js";
import { inRepository } from "../support/cardea.js";
import { SECTIONS } from "../support/features.js";
import { sample } from "../support/sample.js";
import { freePort } from "../support/told-port.js";
import { fencesOf, follow } from "./follow.js";

const GUIDES = readdirSync(inRepository("docs/guides")).map((name) => `docs/guides/${name}`);

test.each(sample("pages", ["README.md", "docs/start.md", ...GUIDES], 3))(
  "%s works as it is written",
  async (page) => {
    await follow(page, [await freePort(), await freePort()]);
  },
  120_000,
);

test.each([
  "README.md",
  "docs/start.md",
  "docs/auth.md",
  "docs/policy.md",
  "docs/containers.md",
  "docs/service.md",
  "docs/tenants.md",
  "docs/tokens.md",
  ...GUIDES,
])("every config in %s is right", (page) => {
  const problems = fencesOf(page)
    .filter(({ language, text }) => language === "jsonc" && text.startsWith("{"))
    .flatMap(({ text }) => {
      const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name = ""]) => [
        name,
        "a-value-of-this-variable",
      ]);
      const outcome = readConfig(text, page, {
        sections: SECTIONS,
        env: Object.fromEntries(names) as Record<string, string>,
      });
      return outcome.problems.map(({ message }) => message);
    });
  expect(problems).toEqual([]);
});
