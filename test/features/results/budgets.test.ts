/** Results over a budget, at hosts of both eras: a preview that fits, and the whole behind a link and a tool. */
import { describe, expect, test } from "vitest";
import { testOf } from "../../support/features.js";
import { HOSTS } from "../../support/open-gateway.js";
import { SDK_1, SDK_2_LEGACY, SDK_2_MODERN } from "../../support/peers/sdk.js";
import { eachValue } from "../../support/sample.js";
import {
  ask,
  BUDGET,
  blocksOf,
  call,
  idOf,
  LARGE,
  opened,
  PROSE,
  ROWS,
  readOn,
  sizeOf,
  textOf,
} from "./support.js";

const CHARACTERS = BUDGET * 4;
const DRAWN = eachValue("hosts that read on", HOSTS, ({ era, door }) => [era, door]);
const ERAS = (["legacy", "modern"] as const).map((era) => ({ era }));

describe.each(DRAWN)("a $era host over $door", (kind) => {
  test("gets head and tail of a long text, a link to the whole, and reads all lines page by page", async () => {
    const host = await (await opened()).host(kind);
    const preview = await call(host, "big__prose");
    expect(sizeOf(preview)).toBeLessThanOrEqual(CHARACTERS);
    expect(textOf(preview)).toMatch(
      /^line 0: .*\n[\s\S]* of 3000 lines left out: offset \d+ to \d+ …\]\n[\s\S]*line 2999: .*$/,
    );
    const id = idOf(preview);
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(blocksOf(preview)[1]?.text).toContain(`read_result with {"id":"${id}"}`);
    const lines: string[] = [];
    for (let offset: unknown = 0; offset !== undefined; ) {
      const page = await readOn(host, id, { offset, limit: 1_000 });
      expect(sizeOf(page)).toBeLessThanOrEqual(CHARACTERS);
      lines.push(textOf(page));
      expect(page.structuredContent).toMatchObject({ total: 3_000, offset, unit: "lines" });
      ({ next: offset } = page.structuredContent as { next?: number });
    }
    expect(lines.join("\n")).toBe(PROSE);
  });

  test("reads the same pages by the URI of the link", async () => {
    const host = await (await opened()).host(kind);
    const uri = `cardea-result://${idOf(await call(host, "big__prose"))}`;
    const { contents } = await ask(host, "resources/read", { uri });
    const [first, note] = contents as { uri: string; text: string }[];
    expect(first).toMatchObject({ uri, mimeType: "text/plain" });
    expect(PROSE.startsWith(first?.text ?? "-")).toBe(true);
    expect(JSON.stringify(contents).length).toBeLessThanOrEqual(CHARACTERS);
    const [second] = (await ask(host, "resources/read", { uri: note?.uri ?? "" })).contents as {
      text: string;
    }[];
    expect(PROSE.startsWith(`${first?.text}\n${second?.text}`)).toBe(true);
    const part = await ask(host, "resources/read", { uri: `${uri}?offset=17&limit=2` });
    expect((part.contents as { text: string }[])[0]?.text).toBe(PROSE.split("\n").slice(17, 19).join("\n"));
  });
});

describe.each(ERAS)("a $era host", ({ era }) => {
  const hostOf = async (config?: object) => (await opened(config)).host({ era, door: "http" });

  test("gets a small result as it is", async () => {
    const host = await hostOf();
    expect(await call(host, "big__small")).toMatchObject({
      content: [{ type: "text", text: "a few words" }],
      structuredContent: { words: 3 },
    });
  });

  test("gets the shape of JSON, and reads its items and parts", async () => {
    const host = await hostOf();
    const preview = await call(host, "big__json");
    expect(sizeOf(preview)).toBeLessThanOrEqual(CHARACTERS);
    expect(textOf(preview)).toMatch(
      /^\{"total": 500, "rows": \[\{"id": 0, "name": "person 0".* \d+ more\]\}$/,
    );
    const id = idOf(preview);
    const row = await readOn(host, id, { path: "/rows/7" });
    expect(JSON.parse(textOf(row))).toEqual(ROWS[7]);
    const rows = await readOn(host, id, { path: "/rows", offset: 490, limit: 5 });
    expect(JSON.parse(textOf(rows))).toEqual(ROWS.slice(490, 495));
    const position = { total: 500, offset: 490, next: 495, unit: "items" };
    // Several hosts show a model the structure only.
    expect(rows.structuredContent).toEqual({ text: textOf(rows), ...position });
    const name = await readOn(host, id, { path: "/rows/7/name" });
    expect(textOf(name)).toBe("person 7");
    const whole = await readOn(host, id, { path: "/content/0/type" });
    expect(textOf(whole)).toBe("text");
  });

  test("gets a structure over the budget as a preview, and the structure behind the link", async () => {
    const host = await hostOf();
    const preview = await call(host, "big__structure");
    expect(preview).not.toHaveProperty("structuredContent");
    expect(sizeOf(preview)).toBeLessThanOrEqual(CHARACTERS);
    const row = await readOn(host, idOf(preview), { path: "/structuredContent/rows/499" });
    expect(JSON.parse(textOf(row))).toEqual(ROWS[499]);
  });

  test("searches by text and by pattern, with the place of each match", async () => {
    const host = await hostOf();
    const id = idOf(await call(host, "big__json"));
    const found = await readOn(host, id, { search: "Person 17" });
    expect(textOf(found)).toContain('/rows/17: {"id":17,"name":"person 17"');
    expect(found.structuredContent).toMatchObject({ total: 11, offset: 0, unit: "items" });
    const [only] = textOf(await readOn(host, id, { search: "/n 17$/" })).split("\n");
    expect(only).toMatch(/^\/rows\/17: /);
    const lines = await readOn(host, idOf(await call(host, "big__prose")), { search: "/line 12[34]:/" });
    expect(textOf(lines).split("\n").slice(0, 3)).toEqual([
      "122- line 122: the quick brown fox",
      "123: line 123: the quick brown fox",
      "124- line 124: the quick brown fox",
    ]);
    expect(textOf(await readOn(host, id, { search: "nowhere at all" }))).toBe("(no match)");
    const refused = await readOn(host, id, { search: "/(?=x)/" });
    expect(refused).toMatchObject({ isError: true, _meta: { "cardea/refusal": { code: "bad_request" } } });
  });

  test("gets the end of a log, the columns of a table, the text of a page", async () => {
    const host = await hostOf();
    expect(textOf(await call(host, "big__log"))).toMatch(
      /^\[… the last \d+ of 2000 lines of a log …\][\s\S]*request 1999 done$/,
    );
    expect(textOf(await call(host, "big__table"))).toMatch(
      /^A table of 501 lines; columns: id, name, city\nid,name,city\n0,person 0,Oslo\n[\s\S]*more lines, from offset \d+ …\]$/,
    );
    const page = textOf(await call(host, "big__page"));
    expect(page).toMatch(
      /^The text of an HTML page of \d+ characters \(path \/content\/0\/text reads its source\):\nTitle & more\nA paragraph\.\n/,
    );
    expect(page).not.toContain("color");
  });

  test("gets images as they are, and errors as errors", async () => {
    const host = await hostOf();
    const image = await call(host, "big__image");
    expect(blocksOf(image)).toMatchObject([{ type: "image", mimeType: "image/png" }]);
    expect(await call(host, "big__failed")).toMatchObject({ isError: true });
  });

  test("reads a line without breaks in pieces that fit", async () => {
    const host = await hostOf();
    const preview = await call(host, "big__line");
    expect(sizeOf(preview)).toBeLessThanOrEqual(CHARACTERS);
    const first = await readOn(host, idOf(preview));
    expect(sizeOf(first)).toBeLessThanOrEqual(CHARACTERS);
    const { next, total } = first.structuredContent as { next: number; total: number };
    expect(total).toBeGreaterThan(next);
  });

  test("lists read_result, and no output schema that a preview would break", async () => {
    const host = await hostOf();
    const tools = await host.list("tools");
    expect(tools.at(-1)).toMatchObject({ name: "read_result", inputSchema: { required: ["id"] } });
    expect(tools.find(({ name }) => name === "big__structure")).not.toHaveProperty("outputSchema");
  });
});

test("a server or a tool may have another budget, or none", async () => {
  const server = { ...LARGE, entry: { results: { maxTokens: "off", tools: { prose: 200 } } } };
  const running = await opened({ results: { maxTokens: 300 } }, server);
  const host = await running.host({ era: "modern", door: "http" });
  expect(sizeOf(await call(host, "big__prose"))).toBeLessThanOrEqual(800);
  expect(idOf(await call(host, "big__json"))).toBe("");
  const schemas = (await host.list("tools")).filter((tool) => Object.hasOwn(tool, "outputSchema"));
  expect(schemas.map(({ name }) => name)).toContain("big__structure");
});

test("without a budget nothing is listed, kept or cut", async () => {
  const running = await opened({});
  const host = await running.host({ era: "modern", door: "http" });
  expect(textOf(await call(host, "big__prose"))).toBe(PROSE);
  expect((await host.list("tools")).map(({ name }) => name)).not.toContain("read_result");
});

test("a budget of the smallest size holds", async () => {
  const running = await opened({ results: { maxTokens: 100 } });
  const host = await running.host({ era: "modern", door: "http" });
  for (const name of ["prose", "json", "structure", "log", "table", "page", "line"]) {
    const preview = await call(host, `big__${name}`);
    expect([name, sizeOf(preview) <= 400]).toEqual([name, true]);
    for (const query of [{}, { search: "1" }, { path: "/content/0/text" }]) {
      const page = await readOn(host, idOf(preview), query);
      expect([name, query, sizeOf(page) <= 400]).toEqual([name, query, true]);
    }
  }
});

testOf("tool-search")("tools that are called through call_tool have the same budget", async () => {
  const running = await opened({ results: { maxTokens: BUDGET }, tools: { exposure: "search" } });
  const host = await running.host({ era: "modern", door: "http" });
  expect((await host.list("tools")).map(({ name }) => name)).toEqual([
    "find_tools",
    "call_tool",
    "read_result",
  ]);
  const preview = await call(host, "call_tool", { name: "big__prose", arguments: {} });
  expect(sizeOf(preview)).toBeLessThanOrEqual(CHARACTERS);
  expect(textOf(await readOn(host, idOf(preview), { limit: 1 }))).toBe("line 0: the quick brown fox");
});

test("the same at the URL of a server and of a profile", async () => {
  const profiles = { some: { servers: ["big"] } };
  const running = await opened({ results: { maxTokens: BUDGET }, profiles });
  for (const [path, name] of [
    ["/big", "prose"],
    ["/some", "big__prose"],
  ] as const) {
    const host = await running.host({ era: "legacy", door: "http" }, "ann", path);
    const id = idOf(await call(host, name));
    expect(textOf(await readOn(host, id, { offset: 2_999 }))).toBe("line 2999: the quick brown fox");
  }
});

test.each([SDK_1, SDK_2_LEGACY, SDK_2_MODERN])(
  "a host of $name takes previews and pages",
  async ({ connect }) => {
    const running = await opened({ results: { maxTokens: BUDGET }, auth: undefined });
    const host = await connect({ url: running.url });
    await host.list("tools");
    for (const name of ["prose", "small", "structure", "json", "image", "failed"]) {
      const { result, error } = await host.request("tools/call", { name: `big__${name}`, arguments: {} });
      expect([name, error]).toEqual([name, undefined]);
      const id = idOf(result ?? {});
      if (id === "") continue;
      const page = await host.request("tools/call", { name: "read_result", arguments: { id } });
      expect(page.error).toBeUndefined();
      const read = await host.request("resources/read", { uri: `cardea-result://${id}` });
      expect(read.error).toBeUndefined();
    }
    await host.close();
  },
);
