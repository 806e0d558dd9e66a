import { expect, test } from "vitest";
import type { ToolForms } from "../../../src/core/tool-forms.js";
import { type Shortening, shortenTool } from "../../../src/features/tool-definitions/shortened-tools.js";
import type { JsonObject } from "../../../src/wire/json.js";
import { catalogOf, itemsOf, server, tool } from "../../catalog/support.js";
import { fakeClient, fakeUpstream } from "../../support/fake-upstream.js";

const LONG =
  "Finds books by title. It needs an index, which is built at night, and returns at most 100 books.";
const schema = {
  type: "object",
  properties: { title: { type: "string", title: "Title", description: "Title" } },
  required: ["title"],
};

const books = (...tools: readonly JsonObject[]) => fakeUpstream("books", { lists: { tools } });

interface Shown {
  readonly shortening: Shortening;
  readonly overrides?: NonNullable<Parameters<typeof server>[1]>["overrides"];
}

async function shown(tools: readonly JsonObject[], { shortening, ...config }: Shown) {
  const forms: ToolForms = {
    ofServer: () => (item, isOwnDescription) => shortenTool(item, shortening, isOwnDescription),
    atEndpoint: () => undefined,
  };
  const servers = [server("books", config as Parameters<typeof server>[1])];
  const catalog = catalogOf([books(...tools)], { servers, forms });
  await catalog.prepare(fakeClient());
  return { catalog, items: itemsOf(catalog, "tools") };
}

test("descriptions are cut at the end of a sentence, or of a word", async () => {
  const tools = [
    tool("a", { description: LONG }),
    tool("b", { description: "one two three four five six seven eight, nine" }),
    tool("c", { description: "short" }),
    tool("d", { description: "x".repeat(60) }),
    tool("e", { description: `${"x".repeat(37)}📚📚📚` }),
  ];
  const { items } = await shown(tools, { shortening: { descriptionLength: 40, compactSchemas: false } });
  expect(items.map(({ description }) => description)).toEqual([
    "Finds books by title. …",
    "one two three four five six seven…",
    "short",
    `${"x".repeat(38)}…`,
    `${"x".repeat(37)}…`,
  ]);
});

test("schemas of arguments and results are made compact; calls are checked against the server's own", async () => {
  const { catalog, items } = await shown([tool("find", { inputSchema: schema, outputSchema: schema })], {
    shortening: { compactSchemas: true },
  });
  const compact = { ...schema, properties: { title: { type: "string" } } };
  expect(items).toEqual([{ name: "books__find", inputSchema: compact, outputSchema: compact }]);
  expect(catalog.view(fakeClient()).find("tools", "books__find")?.item?.inputSchema).toEqual(schema);
});

test("overridden texts are shortened too, except an overridden description", async () => {
  const tools = [
    tool("find", { description: LONG, inputSchema: schema }),
    tool("get", { description: LONG }),
  ];
  const { items } = await shown(tools, {
    shortening: { descriptionLength: 40, compactSchemas: true },
    overrides: {
      find: { description: LONG, arguments: { defaults: { title: "Emma" }, fixed: {} } },
      get: { name: "fetch" },
    },
  });
  expect(items).toEqual([
    {
      name: "books__find",
      description: LONG,
      inputSchema: { type: "object", properties: { title: { type: "string", default: "Emma" } } },
    },
    { name: "books__fetch", description: "Finds books by title. …", inputSchema: { type: "object" } },
  ]);
});

test("the same shortened entries are shown in every list, at /mcp/NAME too", async () => {
  const { catalog, items } = await shown([tool("find", { description: LONG })], {
    shortening: { descriptionLength: 40, compactSchemas: false },
  });
  const alone = fakeClient({ endpoint: "books" });
  expect(itemsOf(catalog, "tools", alone)).toEqual([{ ...items[0], name: "find" }]);
  const route = catalog.view(fakeClient()).find("tools", "books__find");
  expect(catalog.view(alone).find("tools", "find")?.overriddenItem).toBe(route?.overriddenItem);
});
