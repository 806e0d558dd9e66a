/** What a search finds among the tools of a list, and what it never shows. */
import { describe, expect, test } from "vitest";
import { buildToolIndex } from "../../../../src/features/tool-search/ranking/build-index.js";
import type { SearchOptions } from "../../../../src/features/tool-search/ranking/tool-index.js";
import type { SearchableTool } from "../../../../src/features/tool-search/ranking/tool-text.js";
import { server, tool } from "./support.js";

const github = server("github");
const TOOLS: readonly SearchableTool[] = [
  tool("files__read_file", "Reads the contents of a file", {
    parameters: { path: "Path of the file to read" },
  }),
  tool("files__write_file", "Writes a text to a file", { parameters: { path: "", payload: "" } }),
  tool("files__move", "Moves or renames a file"),
  tool("github__create_issue", "Opens a new issue in a repository", {
    of: github,
    parameters: { title: "" },
  }),
  tool("github__listPullRequests", "Lists the pull requests of a repository", { of: github }),
  tool("weather__forecast", "日本の天気予報を取得します", { of: server("weather") }),
];

async function found(
  query: string,
  options: Partial<SearchOptions> = {},
  tools: readonly SearchableTool[] = TOOLS,
): Promise<readonly (string | undefined)[]> {
  const index = await buildToolIndex(tools);
  return index.all.search(query, { limit: 5, ...options }).hits.map(({ entry }) => tools[entry]?.name);
}

describe("a search finds a tool by", () => {
  test.each([
    ["words of its name", "create issue", "github__create_issue"],
    ["other forms of its words", "creating issues", "github__create_issue"],
    ["words of its description", "renaming", "files__move"],
    ["parts of a name in camel case", "list requests", "github__listPullRequests"],
    ["a name in camel case, in other case", "PULL REQUESTS", "github__listPullRequests"],
    ["a parameter", "payload", "files__write_file"],
    ["a word that means the same", "relocate", "files__move"],
    ["a phrase for its abbreviation", "open a PR", "github__listPullRequests"],
    ["two words that are one in its name", "list pull requests", "github__listPullRequests"],
    ["its description in a script without spaces", "天気予報", "weather__forecast"],
  ])("%s", async (_, query, name) => {
    expect((await found(query))[0]).toBe(name);
  });

  test("the name of its server", async () => {
    const github = ["github__create_issue", "github__listPullRequests"];
    expect([...(await found("github"))].sort()).toEqual(github);
  });
});

test("a request for several things finds the best tool for each of them", async () => {
  const found3 = await found("Read the contents of a file. Then open an issue in the repository", {
    limit: 2,
  });
  expect([...found3].sort()).toEqual(["files__read_file", "github__create_issue"]);
  const joined = await found("get the forecast and rename the file", { limit: 2 });
  expect([...joined].sort()).toEqual(["files__move", "weather__forecast"]);
});

test("`news` is not found as `new`", async () => {
  const tools = [tool("a__create", "Creates a new entry"), tool("b__headlines", "Shows the news")];
  expect(await found("news", {}, tools)).toEqual(["b__headlines"]);
});

test("a query without a word that any tool has finds nothing", async () => {
  const index = await buildToolIndex(TOOLS);
  expect(index.all.search("zebra the of", { limit: 5 })).toEqual({ hits: [], total: 0 });
  expect(index.all.search("", { limit: 5 })).toEqual({ hits: [], total: 0 });
});

test("the exact name of a tool puts that tool first, in any case", async () => {
  const index = await buildToolIndex(TOOLS);
  for (const query of ["files__move", " FILES__MOVE "]) {
    const [first, ...others] = index.all.search(query, { limit: 5 }).hits;
    expect(first).toMatchObject({ entry: 2, isNamed: true });
    expect(others.some(({ isNamed }) => isNamed)).toBe(false);
  }
});

test("of two names that differ in case the exact one is first", async () => {
  const tools = [tool("Read", "one"), tool("read", "other")];
  expect(await found("read", {}, tools)).toEqual(["read", "Read"]);
  expect(await found("Read", {}, tools)).toEqual(["Read", "read"]);
});

test("with a server only tools of that server are found and counted", async () => {
  const index = await buildToolIndex(TOOLS);
  const { hits, total } = index.all.search("file repository", { server: "github", limit: 1 });
  expect(hits).toHaveLength(1);
  expect(total).toBe(2);
  expect(
    index.all.search("files__move", { server: "github", limit: 5 }).hits.map(({ entry }) => entry),
  ).not.toContain(2);
});

test("a tool that has nothing but a common word of the query is not found beside one that fits", async () => {
  const common = Array.from({ length: 20 }, (_, at) => tool(`a__tool_${at}`, "Works with a file"));
  const index = await buildToolIndex([...common, tool("a__rename", "Renames a file in the archive")]);
  const { hits, total } = index.all.search("rename file in archive", { limit: 5 });
  expect(hits.map(({ entry }) => entry)).toEqual([20]);
  expect(total).toBe(1);
});

test("a word that all of very many tools have is found where the query has no other", async () => {
  const many = Array.from({ length: 1_500 }, (_, at) =>
    tool(`a__t${at}`, at === 700 ? "file archive" : "file"),
  );
  const index = await buildToolIndex(many);
  expect(index.all.search("file", { limit: 1 })).toMatchObject({ total: 1_500 });
  expect(index.all.search("file archive", { limit: 5 }).hits.map(({ entry }) => entry)).toEqual([700]);
});

test("a name repeated in a description counts hardly more than once", async () => {
  const honest = tool("a__read_file", "Reads a file");
  const loud = tool("b__other", "file ".repeat(400));
  expect((await found("read file", {}, [loud, honest]))[0]).toBe("a__read_file");
});

test("words after the first 2,048 characters of a description are not found", async () => {
  const long = tool("a__long", `${"x ".repeat(1_024)}zebra`);
  expect(await found("zebra", {}, [long])).toEqual([]);
});

test("a build for a list that is no longer current ends", async () => {
  const stop = new AbortController();
  const tools = Array.from({ length: 2_000 }, (_, at) =>
    tool(`a__tool_${at}`, "Does this and that with a file"),
  );
  const built = buildToolIndex(tools, { signal: stop.signal });
  stop.abort(new Error("a newer list"));
  await expect(built).rejects.toThrow("a newer list");
});
