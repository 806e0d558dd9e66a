/** Comments of src/ are short technical English that a stranger can search (CONTRIBUTING.md, "Style"). */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";
import { filesOf } from "./imports.js";

/** What a comment never says, and what it says instead. */
const BANNED: readonly (readonly [words: RegExp, instead: string])[] = [
  [
    /\b(?:who(?:so)?ever|nobody|somebody|anybody|everybody|no one|someone|anyone|everyone)\b/i,
    "the thing: the client, the caller",
  ],
  [/\bso (?:many|long|much|often)\b|\b(?:that|this) much\b/i, "the number and its unit, or `while`"],
  [/\bof (?:its|their) own accord\b|\bas (?:it is|they are)[.;:]/i, "`unprompted`, `unchanged`"],
  [/\bis there for nothing\b|\bwhat is asked of\b/i, "the fact"],
  [/\b(?:hear|hears|heard|told)\b/i, "`receives`, `is notified`"],
  [/\bpromised\b/i, "`advertised`"],
  [/\bjudg(?:e|es|ed|ing)\b/i, "`evaluates`, `checks`"],
  [/\bcontract section\b/i, "what that section says"],
];
/** The pages that comments name; those in URIs of examples are none. */
const PAGE = /(?<![\w/.-])(?:[\w-]+\/)*[\w-]+\.md\b/g;

/** The comments of a text, each on one line. */
const commentsOf = (text: string): readonly string[] =>
  [...text.matchAll(/(?<![^\s([{])\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+|(?<=\s)\/\/ .*$/gm)].map(
    ([comment]) => comment.replace(/\s*\n\s*(?:\*(?!\/)|\/\/)?\s*/g, " ").trim(),
  );

/** What is wrong with the comments of a text. */
const faultsOf = (text: string): readonly string[] =>
  commentsOf(text).flatMap((comment) => [
    ...BANNED.flatMap(([words, instead]) => {
      const found = words.exec(comment);
      if (found === null) return [];
      const around = comment.slice(Math.max(0, found.index - 40), found.index + 40);
      return [`"${found[0]}" in "… ${around} …": write ${instead}`];
    }),
    ...[...comment.matchAll(PAGE)]
      .filter(([page]) => !["", "docs/"].some((folder) => existsSync(inRepository(`${folder}${page}`))))
      .map(([page]) => `${page} is not in the repository: say what the code needs of it`),
  ]);

const folderOf = (file: string): string => file.split("/")[0] ?? file;
const SOURCES = filesOf("src");
const counts = JSON.parse(
  execFileSync(process.execPath, [inRepository("scripts/doc-comments.mjs"), "--json"], { encoding: "utf8" }),
) as Record<string, { exports: number; documented: number }>;
const FOLDERS = [...new Set(SOURCES.map(({ file }) => folderOf(file)))];

describe.each(FOLDERS)("src/%s", (folder) => {
  test("comments use no filler words and name pages that exist", () => {
    const faults = SOURCES.filter(({ file }) => folderOf(file) === folder).flatMap(({ file, text }) =>
      faultsOf(text).map((fault) => `${file}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  test("85 % of the exports have a doc comment (npm run doc-comments)", () => {
    const { documented, exports } = counts[folder] ?? { documented: 0, exports: 0 };
    expect(documented).toBeGreaterThanOrEqual(0.85 * exports);
  });
});

test("every file begins with a doc comment", () => {
  expect(SOURCES.filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text)).map(({ file }) => file)).toEqual([]);
});

describe("the checks themselves", () => {
  test.each([
    ["/** Whoever asks is\n * told. */", 2],
    ["const a = 1; // so long (ms)", 1],
    ["  // A call waits for so\n  // many others.", 1],
    ["/** See protocol.md, 2.1. */", 1],
    ["/** See ARCHITECTURE.md and docs/policy.md. */", 0],
    ['const text = "nobody://x";', 0],
    ['const text = "tasks/*, nobody"; /* 5 s */', 0],
    ["/** The call waits at most 5 s. */", 0],
  ])("%s", (text, faults) => {
    expect(faultsOf(text)).toHaveLength(faults);
  });
});
