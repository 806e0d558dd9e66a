/** Comments of src/ are short technical English that a stranger can search (CONTRIBUTING.md, "Style"). */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";
import { filesOf } from "./imports.js";

/**
 * The folders that are not held to the rules yet: `words` to those of comments, `docs` to doc comments on 85 % of exports
 * (`npm run doc-comments -- catalog` names what is missing). A folder that is clean is set to true in the commit that
 * cleans it; what does not stand here is held to all rules. The entries stay on lines of their own so that landings
 * of several branches do not conflict. When all are true the table goes.
 */
const CLEAN: Readonly<Record<string, { readonly words: boolean; readonly docs: boolean }>> = {
  admin: {
    words: true,
    docs: true,
  },
  catalog: {
    words: true,
    docs: true,
  },
  cli: {
    words: false,
    docs: false,
  },
  config: {
    words: false,
    docs: false,
  },
  core: {
    words: true,
    docs: true,
  },
  downstream: {
    words: true,
    docs: true,
  },
  gateway: {
    words: true,
    docs: true,
  },
  http: {
    words: true,
    docs: true,
  },
  operator: {
    words: true,
    docs: true,
  },
  policy: {
    words: false,
    docs: false,
  },
  routing: {
    words: true,
    docs: true,
  },
  runtime: {
    words: true,
    docs: true,
  },
  telemetry: {
    words: true,
    docs: true,
  },
  upstream: {
    words: true,
    docs: true,
  },
  wire: {
    words: true,
    docs: true,
  },
  workers: {
    words: true,
    docs: true,
  },
};

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
  [...text.matchAll(/\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n?)+|(?<=\s)\/\/ .*$/gm)].map(([comment]) =>
    comment.replace(/\s*\n\s*(?:\*(?!\/)|\/\/)?\s*/g, " ").trim(),
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
  test.runIf(CLEAN[folder]?.words ?? true)("comments use no filler words and name pages that exist", () => {
    const faults = SOURCES.filter(({ file }) => folderOf(file) === folder).flatMap(({ file, text }) =>
      faultsOf(text).map((fault) => `${file}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  test.runIf(CLEAN[folder]?.docs ?? true)("85 % of the exports have a doc comment", () => {
    const { documented, exports } = counts[folder] ?? { documented: 0, exports: 0 };
    expect(documented).toBeGreaterThanOrEqual(0.85 * exports);
  });
});

test("every file begins with a doc comment", () => {
  expect(SOURCES.filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text)).map(({ file }) => file)).toEqual([]);
});

test("the table names folders that exist", () => {
  expect(Object.keys(CLEAN).filter((folder) => !FOLDERS.includes(folder))).toEqual([]);
});

describe("the checks themselves", () => {
  test.each([
    ["/** Whoever asks is\n * told. */", 2],
    ["const a = 1; // so long (ms)", 1],
    ["  // A call waits for so\n  // many others.", 1],
    ["/** See protocol.md, 2.1. */", 1],
    ["/** See ARCHITECTURE.md and docs/policy.md. */", 0],
    ['const text = "nobody://x";', 0],
    ["/** The call waits at most 5 s. */", 0],
  ])("%s", (text, faults) => {
    expect(faultsOf(text)).toHaveLength(faults);
  });
});
