/** What the config has shortened of a tool, as explain says it. */
import { expect, test } from "vitest";
import { ToolOverrides } from "../../../src/catalog/overrides.js";
import { shortenedDefinition } from "../../../src/features/tool-definitions/explain-shortening.js";
import { definitionForms } from "../../../src/features/tool-definitions/forms.js";
import type { DefinitionSettings } from "../../../src/features/tool-definitions/section.js";
import { catalogOf, server, tool } from "../../catalog/support.js";
import { fakeClient, fakeUpstream } from "../../support/fake-upstream.js";

const schema = { type: "object", title: "findArguments", properties: { q: { type: "string" } } };
const find = tool("find", { description: "Finds books. ".repeat(10), inputSchema: schema });

type Overrides = NonNullable<Parameters<typeof server>[1]>["overrides"];

async function explained(features: DefinitionSettings, overrides: Overrides = {}) {
  const upstream = fakeUpstream("books", { lists: { tools: [find, tool("count")] } });
  const config = {
    servers: [{ name: "books", features: { ...features }, overrides }],
    features: {},
    profiles: {},
  };
  const forms = definitionForms(config);
  const catalog = catalogOf([upstream], { servers: [server("books", { overrides })], forms });
  await catalog.prepare(fakeClient());
  return ["books__find", "books__count"].map((name) => {
    const route = catalog.view(fakeClient()).find("tools", name);
    if (route?.item === undefined) return "no tool";
    const definition = new ToolOverrides(overrides).of(route.target)?.apply(route.item) ?? route.item;
    return shortenedDefinition({ route, definition }, config);
  });
}

test("each shortened part, with sizes and savings", async () => {
  expect(await explained({ descriptions: { maxLength: 60 }, schemas: { compact: true } })).toEqual([
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
  expect(await explained({ descriptions: { maxLength: 60 } }, overrides)).toEqual([undefined, undefined]);
  expect(await explained({}, overrides)).toEqual([undefined, undefined]);
});
