/** Previews say what a model needs to read on, and offsets in them are those of `read_result`. */
import { beforeEach, expect, test } from "vitest";
import type { Json } from "../../support/peers/host.js";
import type { RawHost } from "../../support/peers/raw.js";
import { blocksOf, call, idOf, opened, ROWS, readOn, sizeOf, textOf } from "./support.js";

const text = (value: unknown) => ({ type: "text", text: value });
const lines = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join("\n");
const stamp = (at: number): string => new Date(1_790_000_000_000 + at * 1_000).toISOString();
const part = (name: string) => text(lines(400, (at) => `${name} ${at} of many`));
const listing = { content: lines(100, (at) => `[FILE] part-${at}`) };

const RESULTS: Readonly<Record<string, Json>> = {
  log: {
    content: [text(lines(2_000, (at) => `${stamp(at)} ${at % 900 === 7 ? "ERROR" : "INFO"} job ${at}`))],
  },
  newest: { content: [text(lines(2_000, (at) => `${stamp(5_000 - at)} INFO job ${at}`))] },
  history: {
    content: [text(lines(900, (at) => `${"0a".repeat(20)} Ada Mon Sep 21 14:13:20 2026 commit ${at}`))],
  },
  code: { content: [text(lines(900, (at) => `export const part = ${at};`))] },
  parts: {
    content: [
      part("left"),
      part("right"),
      { type: "resource", resource: { uri: "x://y", ...part("third") } },
    ],
  },
  object: { content: [text({ rows: ROWS })] },
  twice: { content: [text(listing.content)], structuredContent: listing },
  page: {
    content: [
      text(`<!DOCTYPE html><html><body>${lines(900, (at) => `<p>Rule <b>${at}</b></p>`)}</body></html>`),
    ],
  },
  odd: {
    content: [
      text(
        `<html><head><title>not shown</title></head><BODY>\u00a0 one&nbsp;two <SPAN>three</SPAN><script>if (a < b) {}</SCRIPT >${"<!-- <p>no</p> -->"}` +
          `<h1>&AMP;&bogus; &#x1F600; caf\u00e9 \u65e5\u672c</h1>${lines(900, (at) => `<custom-part>5 ${at}</custom-part>`)}</BODY></html>`,
      ),
    ],
  },
  tree: {
    content: [
      text(
        JSON.stringify(
          Array.from({ length: 40 }, (_, at) => ({
            name: `folder-${at}`,
            children: Array.from({ length: 40 }, (__, each) => ({ name: `file-${at}-${each}`, size: each })),
          })),
        ),
      ),
    ],
  },
};

let host: RawHost;
const preview = (name: string): Promise<Json> => call(host, `big__${name}`);

beforeEach(async () => {
  const tools = Object.keys(RESULTS).map((name) => ({ name, inputSchema: { type: "object" } }));
  const running = await opened(
    { results: { maxTokens: 600 } },
    {
      tools,
      answer: ({ method, params }) => (method === "tools/call" ? RESULTS[String(params.name)] : undefined),
    },
  );
  host = await running.host({ era: "modern", door: "http" });
});

test("of a log: where its errors are", async () => {
  const result = await preview("log");
  const [, offset] =
    /2000 lines of a log; 3 with ERROR or FATAL, at offset 7, 907, (\d+) …/.exec(textOf(result)) ?? [];
  expect(textOf(await readOn(host, idOf(result), { offset: Number(offset), limit: 1 }))).toContain(
    "ERROR job 1807",
  );
});

test.each(["newest", "history", "code"])(
  "of lines that are no log with its end last (%s): head and tail",
  async (name) => {
    expect(textOf(await preview(name)).split("\n")[0]).toMatch(/job 0$|commit 0$|part = 0;$/);
  },
);

test("of several texts: the path that reads each", async () => {
  const result = await preview("parts");
  expect(sizeOf(result)).toBeLessThanOrEqual(2_400);
  for (const [at, name] of ["left", "right", "third"].entries()) {
    const [, path, offset] = /: path (\S+), offset (\d+) to/.exec(blocksOf(result)[at]?.text ?? "") ?? [];
    const page = await readOn(host, idOf(result), { path: path ?? "", offset: Number(offset), limit: 1 });
    expect(textOf(page)).toBe(`${name} ${offset} of many`);
  }
});

test("of a text that is an object: its shape", async () => {
  const result = await preview("object");
  expect(sizeOf(result)).toBeLessThanOrEqual(2_400);
  expect(textOf(await readOn(host, idOf(result), { path: "/rows/7/name" }))).toBe("person 7");
});

test("a structure that repeats the text is left out before the text is cut", async () => {
  const result = await preview("twice");
  expect(textOf(result)).toBe(listing.content);
  expect(result).not.toHaveProperty("structuredContent");
  expect(blocksOf(result)[1]?.text).toBe("[structuredContent, which has the same, is left out.]");
  const whole = await readOn(host, idOf(result), { path: "/structuredContent/content", limit: 1 });
  expect(textOf(whole)).toBe("[FILE] part-0");
});

test("of a page: its text, which is read on by lines; its source by the path", async () => {
  const result = await preview("page");
  expect(textOf(result)).toContain("\nRule 0\n");
  const id = idOf(result);
  expect(textOf(await readOn(host, id, { offset: 450, limit: 1 }))).toBe("Rule 450");
  expect(textOf(await readOn(host, id, { search: "rule 451" }))).toContain("451: Rule 451\n");
  expect(textOf(await readOn(host, id, { path: "/content/0/text", offset: 1, limit: 1 }))).toBe(
    "<p>Rule <b>1</b></p>",
  );
});

test("of a tree: names at each level; a match names the way to it", async () => {
  const result = await preview("tree");
  expect(textOf(result)).toContain('{"name": "folder-3"');
  const found = textOf(await readOn(host, idOf(result), { search: "file-31-7" }));
  expect(found).toMatch(/^\/31\/children\/7 \(folder-31\): \{"name":"file-31-7","size":7\}/);
});

test("the text of a page has its characters, and nothing of scripts, comments and heads", async () => {
  const shown = await preview("odd");
  const whole = await readOn(host, idOf(shown), { limit: 5 });
  expect(textOf(whole)).toBe("one two three\n&&bogus; 😀 café 日本\n5 0\n5 1\n5 2");
});
