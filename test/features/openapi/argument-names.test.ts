/** Arguments of an HTTP API whose names models refuse: how they are listed, called, ruled and explained. */
import { describe, expect, test } from "vitest";
import { isObject } from "../../../src/wire/json.js";
import { documentOf } from "../../support/api.js";
import { testOf } from "../../support/features.js";
import { apiGateway } from "./api-gateway.js";
import { openApi } from "./open-api.js";

const ok = { responses: { 200: { description: "ok" } } };
const STRING = { type: "string" };
const query = (name: string, more: object = {}) => ({ name, in: "query", schema: STRING, ...more });
const SAFE = /^[a-zA-Z0-9_.-]{1,64}$/;

/** All keys of `properties` at any depth. */
function keysOf(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(keysOf);
  if (!isObject(schema)) return [];
  const own = isObject(schema.properties) ? Object.keys(schema.properties) : [];
  return [...own, ...Object.values(schema).flatMap(keysOf)];
}

const ODD = [
  "filter[name]",
  "$top",
  "ids[]",
  "Straße",
  "属性",
  "page number",
  "@odata.type",
  `x${"y".repeat(80)}`,
  `x${"y".repeat(80)}z`,
  "a/b",
  "🙂",
  "filter[created][gte]",
  "constructor",
  "__proto__",
];

async function listed(parameters: readonly object[], more: object = {}) {
  const { tools, call } = await openApi(
    documentOf({ "/x": { get: { operationId: "op", parameters, ...ok, ...more } } }),
  );
  const [tool] = await tools();
  return { names: Object.keys(tool?.inputSchema.properties ?? {}), tool, call };
}

describe("the names of arguments", () => {
  test("are keys that models take, each parameter with a name of its own", async () => {
    const { names, tool } = await listed(ODD.map((name) => query(name)));
    expect(names.filter((name) => !SAFE.test(name))).toEqual([]);
    expect(new Set(names).size).toBe(ODD.length);
    expect(names).toEqual(
      expect.arrayContaining([
        "filter_name",
        "top",
        "ids",
        "page_number",
        "odata.type",
        "filter_created_gte",
      ]),
    );
    expect(tool?.inputSchema.properties.filter_name).toMatchObject({
      description: "(In the API: filter[name])",
    });
  });

  test("do not depend on the order of the document, whatever collides", async () => {
    const all = [
      "filter[name]",
      "filter_name",
      "filter(name)",
      "filter{name}",
      "$top",
      "top",
      "@top",
      "a[b]",
      "a b",
    ];
    const mapOf = async (order: readonly string[]) => {
      const { tool } = await listed(order.map((name) => query(name)));
      const replaced = (tool?._meta as Record<string, object> | undefined)?.["cardea/argumentNames"] ?? {};
      return Object.fromEntries(Object.entries(replaced).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    };
    const first = await mapOf(all);
    expect(Object.keys(first)).not.toContain("filter_name");
    expect(Object.keys(first)).not.toContain("top");
    expect(new Set(Object.values(first)).size).toBe(all.length - 2);
    for (const order of [all.toReversed(), [...all.slice(4), ...all.slice(0, 4)]])
      expect(await mapOf(order)).toEqual(first);
  });

  test("of one parameter in several places have their place before them, in any order of the document", async () => {
    const of = (order: readonly object[]) => listed(order).then(({ names }) => names.toSorted());
    const all = [
      query("id"),
      { name: "id", in: "header", schema: STRING },
      query("header_id"),
      query("f[x]"),
      { name: "f[x]", in: "cookie", schema: STRING },
    ];
    const names = await of(all);
    expect(names).toEqual(await of(all.toReversed()));
    expect(names).toEqual(expect.arrayContaining(["id", "header_id", "f_x"]));
    expect(names).toHaveLength(4);
  });

  test("are replaced at every depth, through references, and in required and examples", async () => {
    const document = documentOf(
      {
        "/x": {
          post: {
            operationId: "op",
            parameters: [
              query("where", {
                style: "deepObject",
                schema: {
                  type: "object",
                  required: ["name[eq]"],
                  properties: { "name[eq]": STRING, name_eq: STRING },
                },
              }),
            ],
            requestBody: {
              content: { "application/json": { schema: { $ref: "#/components/schemas/Node" } } },
            },
            ...ok,
          },
        },
      },
      {
        components: {
          schemas: {
            Node: {
              type: "object",
              required: ["@type"],
              properties: {
                "@type": STRING,
                "children nodes": { type: "array", items: { $ref: "#/components/schemas/Node" } },
              },
              example: { "@type": "leaf" },
            },
          },
        },
      },
    );
    const { tools } = await openApi(document);
    const [tool] = await tools();
    expect(keysOf(tool?.inputSchema).filter((name) => !SAFE.test(name))).toEqual([]);
    expect(tool?.inputSchema).toMatchObject({
      $defs: { Node: { required: ["type"], examples: [{ type: "leaf" }] } },
    });
  });
});

const deep = query("where", {
  style: "deepObject",
  schema: { type: "object", properties: { "name[eq]": STRING, age: { type: "integer" } } },
});
const NODE = {
  type: "object",
  properties: { "@type": STRING, "sub nodes": { type: "array", items: {} as object }, free: {} },
};
NODE.properties["sub nodes"].items = { type: "object", properties: { "@type": STRING } };
const PATHS = {
  "/x": {
    post: {
      operationId: "op",
      parameters: [query("$top", { schema: { type: "integer" } }), query("filter[name]"), deep],
      requestBody: { content: { "application/json": { schema: NODE } } },
      ...ok,
    },
  },
};

describe("a call", () => {
  test("reaches the API under the API's names, at every depth", async () => {
    const { call, asked } = await apiGateway(PATHS);
    await call("api__op", {
      top: 5,
      filter_name: "n",
      where: { name_eq: "m", age: 1 },
      body: { type: "t", sub_nodes: [{ type: "u" }], free: { type: "v", sub_nodes: 1 } },
    });
    expect(asked[0]?.url).toBe("/x?%24top=5&filter%5Bname%5D=n&where[name%5Beq%5D]=m&where[age]=1");
    expect(JSON.parse(String(asked[0]?.body))).toEqual({
      "@type": "t",
      "sub nodes": [{ "@type": "u" }],
      free: { type: "v", sub_nodes: 1 },
    });
  });

  test("may use the API's own names, but not both of one argument", async () => {
    const { call, asked } = await apiGateway(PATHS);
    await call("api__op", { $top: 5, where: { "name[eq]": "m" }, body: { "@type": "t" } });
    expect([asked[0]?.url, String(asked[0]?.body)]).toEqual([
      "/x?%24top=5&where[name%5Beq%5D]=m",
      '{"@type":"t"}',
    ]);
    for (const twice of [
      { $top: 5, top: 6 },
      { top: 6, $top: 5 },
      { where: { "name[eq]": "a", name_eq: "b" } },
      { body: { "@type": "a", type: "b" } },
    ]) {
      const { isError, content } = await call("api__op", twice);
      expect([isError, content[0]?.text]).toEqual([true, expect.stringContaining("are the same argument")]);
    }
    expect(asked).toHaveLength(1);
  });

  testOf("policy").each(["args.filter_name == 'secret'", "args['filter[name]'] == 'secret'"])(
    "is ruled by the argument under either name: %s",
    async (when) => {
      const { call, asked } = await apiGateway(PATHS, {
        config: {
          policy: { rules: [{ name: "no", tools: ["*"], when: `has(args.top) || ${when}`, effect: "deny" }] },
        },
      });
      for (const args of [{ filter_name: "secret" }, { "filter[name]": "secret" }])
        expect((await call("api__op", args)).isError).toBe(true);
      expect((await call("api__op", { filter_name: "open" })).isError).toBeUndefined();
      expect(asked).toHaveLength(1);
    },
  );

  testOf("policy")("is ruled by members of arguments under either name", async () => {
    for (const when of ["args.where.name_eq == 'x'", "args.where['name[eq]'] == 'x'"]) {
      const { call, asked } = await apiGateway(PATHS, {
        config: { policy: { rules: [{ name: "no", tools: ["*"], when, effect: "deny" }] } },
      });
      for (const where of [{ name_eq: "x" }, { "name[eq]": "x" }])
        expect((await call("api__op", { where })).isError).toBe(true);
      expect(asked).toHaveLength(0);
    }
  });

  test.each(["$top", "top"])("has the fixed argument %s, whatever the host sends", async (name) => {
    const { call, asked, tools } = await apiGateway(PATHS, {
      server: {
        overrides: { op: { arguments: { fixed: { [name]: 10 }, defaults: { "filter[name]": "d" } } } },
      },
    });
    expect(Object.keys(tools.get("api__op")?.inputSchema.properties ?? {})).toEqual([
      "filter_name",
      "where",
      "body",
    ]);
    await call("api__op", { top: 99 });
    await call("api__op", { $top: 99, filter_name: "h" });
    expect(asked.map(({ url }) => url)).toEqual([
      "/x?%24top=10&filter%5Bname%5D=d",
      "/x?%24top=10&filter%5Bname%5D=h",
    ]);
  });

  testOf("policy").each([
    ["filter[name]", "where.name[eq]", "body.@type"],
    ["filter_name", "where.name_eq", "body.type"],
  ])("has what rules redact removed, by the paths %s, %s and %s", async (...paths) => {
    const rule = { name: "r", tools: ["*"], effect: "redact", redact: { arguments: { paths } } };
    const { call, asked } = await apiGateway(PATHS, { config: { policy: { rules: [rule] } } });
    await call("api__op", { filter_name: "s", where: { name_eq: "s" }, body: { "@type": "s", free: "f" } });
    expect(decodeURIComponent(asked[0]?.url ?? "")).toBe(
      "/x?filter[name]=[redacted]&where[name[eq]]=[redacted]",
    );
    expect(JSON.parse(String(asked[0]?.body))).toEqual({ "@type": "[redacted]", free: "f" });
  });

  testOf("schema-checks")("is checked against the listed schema, where the config asks for it", async () => {
    const { call, asked } = await apiGateway(PATHS, { server: { checks: { arguments: true } } });
    expect((await call("api__op", { $top: 5 })).isError).toBeUndefined();
    expect((await call("api__op", { other: 5 })).isError).toBe(true);
    expect(asked).toHaveLength(1);
  });
});

test("explain shows the API's names of listed arguments", async () => {
  const { gateway } = await apiGateway(PATHS);
  expect(
    await gateway.explain({ name: "api__op", args: { $top: 1 }, as: "anonymous", scopes: [] }),
  ).toMatchObject({
    argumentNames: { top: "$top", filter_name: "filter[name]", name_eq: "name[eq]", type: "@type" },
  });
});
