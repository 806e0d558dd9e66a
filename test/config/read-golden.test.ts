/** Wrong configs and what is said of them: each file of golden/ has the config, a line of dashes, and the messages. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { formatProblem } from "../../src/config/problem.js";
import { readConfig } from "../../src/config/read.js";
import { hasFeature, SECTIONS } from "../support/features.js";

const folder = new URL("golden/", import.meta.url);
const files = readdirSync(folder)
  .filter((file) => file.endsWith(".txt"))
  .filter(
    (file) => hasFeature("admin") || !readFileSync(new URL(file, folder), "utf8").includes("listen.admin"),
  );

test.each(files)("%s", (file) => {
  const text = readFileSync(new URL(file, folder), "utf8");
  const [, config = "", expected = ""] = /^([\s\S]*?)---\n([\s\S]*)$/.exec(text) ?? [];
  const readFile = () => {
    throw new Error("no files here");
  };
  const outcome = readConfig(config, file.includes(".yaml") ? "cardea.yaml" : "cardea.jsonc", {
    env: {},
    readFile,
    sections: SECTIONS,
  });
  const messages = outcome.problems.map((problem) => `${formatProblem(problem)}\n`);
  expect(messages.join("")).toBe(expected);
  expect(messages.join("")).not.toContain("s3cret");
});
