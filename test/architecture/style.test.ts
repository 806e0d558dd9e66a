/** Comments are short technical English that a stranger can search (CONTRIBUTING.md, "Style"). */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";
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
  [/\bany more\b/i, "`no longer`"],
  [/\b(?:anew|once more)\b/i, "`again`"],
  [/\bgo(?:es)? on\b/i, "`continues`"],
  [/\b(?:given|gives?|giving) up\b/i, "`cancels`, `closes`, `times out`"],
  [/\bbut for\b/i, "`except`"],
  [
    /\b(?:all the same|for want of|in the place of|what is left of)\b/i,
    "`anyway`, `without`, `instead of`, the rest",
  ],
  [/\b(?:stands?|stood) still\b/i, "`stalls`, `is suspended`"],
  [/\bmend(?:s|ed)?\b/i, "`fixes`"],
  [/\b(?:says so|to be had|has become of|(?:and|has) the like)\b/i, "the fact"],
];
/** The pages that comments name; those in URIs of examples are none. */
const PAGE = /(?<![\w/.-])(?:[\w-]+\/)*[\w-]+\.md\b/g;

/** The comments of a text, each on one line. */
const commentsOf = (text: string): readonly string[] =>
  [...text.matchAll(/(?<![^\s([{])\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+|(?<=\s)\/\/ .*$/gm)].map(
    ([comment]) => comment.replace(/\s*\n\s*(?:\*(?!\/)|\/\/)?\s*/g, " ").trim(),
  );

/** The titles of tests and groups in a text. */
const titlesOf = (text: string): readonly string[] =>
  [
    ...text.matchAll(
      /(?:\b(?:test|describe)(?:\.\w+)*|\)|\])\(\s*"((?:[^"\\\n]|\\.)+ (?:[^"\\\n]|\\.)+)",\s*(?:\{[^}]*\},\s*)?(?:async )?\(/g,
    ),
  ].map(([, title = ""]) => title);

/** The filler words in a sentence. Code in backticks is not checked. */
const fillersIn = (sentence: string): readonly string[] =>
  BANNED.flatMap(([words, instead]) => {
    const found = words.exec(sentence.replaceAll(/`[^`]*`/g, (code) => " ".repeat(code.length)));
    if (found === null) return [];
    const around = sentence.slice(Math.max(0, found.index - 40), found.index + 40);
    return [`"${found[0]}" in "… ${around} …": write ${instead}`];
  });

/** The filler words in the comments of a text. */
const fillersOf = (text: string): readonly string[] => commentsOf(text).flatMap(fillersIn);

/** What is wrong with the comments of a text. */
const faultsOf = (text: string): readonly string[] =>
  commentsOf(text).flatMap((comment) => [
    ...fillersIn(comment),
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

/** Programs and tests of other folders, and the components of the console. */
const OTHERS: readonly (readonly [folder: string, extensions: RegExp])[] = [
  ["src", /\.tsx$/],
  ["test", /\.(?:ts|mjs)$/],
  ["scripts", /\.mjs$/],
  ["bench", /\.mjs$/],
  ["faults", /\.mjs$/],
  ["cluster", /\.mjs$/],
];
const filesIn = (
  folder: string,
  extensions: RegExp,
): readonly { readonly file: string; readonly text: string }[] =>
  readdirSync(inRepository(folder), { recursive: true, encoding: "utf8" })
    .filter((path) => extensions.test(path) && !path.split(sep).includes("node_modules"))
    .map((path) => ({
      file: `${folder}/${path}`,
      text: readFileSync(join(inRepository(folder), path), "utf8"),
    }));

test.each(OTHERS)("comments in %s (%s) use no filler words", (folder, extensions) => {
  const faults = filesIn(folder, extensions)
    .filter(({ file }) => file !== "test/architecture/style.test.ts")
    .flatMap(({ file, text }) => fillersOf(text).map((fault) => `${file}: ${fault}`));
  expect(faults).toEqual([]);
});

test("test titles use no filler words", () => {
  const faults = filesIn("test", /\.test\.ts$/).flatMap(({ file, text }) =>
    titlesOf(text).flatMap((title) => fillersIn(title).map((fault) => `${file}: ${fault}`)),
  );
  expect(faults).toEqual([]);
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
