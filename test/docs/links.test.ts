/** Links of the pages: each leads to a file of the repository, and its anchor to a heading there. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";
import { inRepository } from "../support/cardea.js";

const inFolder = (folder: string): readonly string[] =>
  readdirSync(inRepository(folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => posix.join(folder, name.replaceAll("\\", "/")));
const PAGES = [
  ...[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "config/reference.md",
  ],
  ...inFolder("docs"),
  ...inFolder("bench"),
];

const read = (path: string): string => readFileSync(inRepository(path), "utf8");
const withoutCode = (text: string): string => text.replace(/^```.*?^```$/gms, "").replace(/`[^`\n]*`/g, "");

/** As VitePress and GitHub make it of a heading, where the two agree. */
const slugOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
const collapsed = (slug: string): string => slug.replace(/-+/g, "-");

const anchorsOf = (path: string): ReadonlySet<string> =>
  new Set(
    [
      ...read(path)
        .replace(/^```.*?^```$/gms, "")
        .matchAll(/^#+ (.+)$/gm),
    ].map(([, heading = ""]) => collapsed(slugOf(heading))),
  );

test("every link leads to a file, and its anchor to a heading of the page", () => {
  const dead = PAGES.flatMap((page) =>
    [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = ""]) => {
      if (/^[a-z]+:/.test(link)) return [];
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : posix.join(posix.dirname(page), path);
      if (!existsSync(inRepository(target))) return [`${page}: ${link}`];
      if (anchor === undefined || !target.endsWith(".md")) return [];
      return anchorsOf(target).has(collapsed(anchor)) ? [] : [`${page}: ${link}`];
    }),
  );
  expect(dead).toEqual([]);
});
