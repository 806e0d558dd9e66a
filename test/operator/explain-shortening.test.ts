/** What the config has shortened of a tool, as explain says it. */
import { expect, test } from "vitest";
import { shortenedDefinition } from "../../src/operator/explain-shortening.js";
import { catalogOf, server, tool } from "../catalog/support.js";
import { fakeClient, fakeUpstream } from "../support/fake-upstream.js";

const schema = { type: "object", title: "findArguments", properties: { q: { type: "string" } } };
const find = tool("find", { description: "Finds books. ".repeat(10), inputSchema: schema });

async function explained(config: Partial<Parameters<typeof server>[1]>) {
  const upstream = fakeUpstream("books", { lists: { tools: [find, tool("count")] } });
  const catalog = catalogOf([upstream], { servers: [server("books", config)] });
  await catalog.prepare(fakeClient());
  return ["books__find", "books__count"].map((name) => {
    const route = catalog.view(fakeClient()).find("tools", name);
    return route && shortenedDefinition(route, config);
  });
}

test("each shortened part, with sizes and savings", async () => {
  expect(await explained({ shortening: { descriptionLength: 60, compactSchemas: true } })).toEqual([
    {
      description: { from: 130, to: 53 },
      inputSchema: { from: 78, to: 54 },
      tokens: { from: 63, to: 42 },
    },
    undefined,
  ]);
});

test("changes by overrides do not count as shortened", async () => {
  const overrides = { find: { description: "Finds.", arguments: { defaults: {}, fixed: { q: "x" } } } };
  expect(
    await explained({ overrides, shortening: { descriptionLength: 60, compactSchemas: false } }),
  ).toEqual([undefined, undefined]);
  expect(await explained({ overrides })).toEqual([undefined, undefined]);
});
