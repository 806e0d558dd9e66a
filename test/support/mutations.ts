/** List entries with one member that is not as it should be: every member of a whole entry, with every odd value. */
import type { Json, List } from "./peers/host.js";

const ICONS = [{ src: "https://x/i.png", mimeType: "image/png", sizes: ["48x48", "any"], theme: "dark" }];
const ANNOTATIONS = { audience: ["user", "assistant"], priority: 0.5, lastModified: "2025-01-12T15:00:58Z" };
const SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { a: { type: "string" }, b: { type: "integer", minimum: 1 } },
  required: ["a"],
  additionalProperties: false,
};

/** One entry of each list with every member that a revision defines. */
export const WHOLE: Readonly<Record<List, Json>> = {
  tools: {
    name: "whole",
    title: "Whole",
    description: "all of it",
    icons: ICONS,
    inputSchema: SCHEMA,
    outputSchema: SCHEMA,
    annotations: {
      title: "Whole",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    execution: { taskSupport: "optional" },
    _meta: { "x/y": 1 },
    "x-more": { odd: true },
  },
  prompts: {
    name: "whole",
    title: "Whole",
    description: "all of it",
    icons: ICONS,
    arguments: [{ name: "a", title: "A", description: "the a", required: true }],
    _meta: { "x/y": 1 },
  },
  resources: {
    uri: "memo://whole",
    name: "whole",
    title: "Whole",
    description: "all of it",
    icons: ICONS,
    mimeType: "text/plain",
    size: 12,
    annotations: ANNOTATIONS,
    _meta: { "x/y": 1 },
  },
  resourceTemplates: {
    uriTemplate: "memo://{whole}",
    name: "whole",
    title: "Whole",
    description: "all of it",
    icons: ICONS,
    mimeType: "text/plain",
    annotations: ANNOTATIONS,
    _meta: { "x/y": 1 },
  },
};

/** An output schema with a use of every keyword that validators of draft 7 know. */
export const RICH_SCHEMA: Json = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "rich",
  type: "object",
  properties: {
    text: { type: "string", pattern: "^a+$", format: "date", minLength: 1, maxLength: 9, default: "a" },
    number: { type: ["number", "null"], minimum: 1, maximum: 9, exclusiveMinimum: 0, multipleOf: 0.5 },
    list: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 2, uniqueItems: true },
    pair: { items: [{ type: "string" }, true], additionalItems: { type: "null" }, contains: { const: 1 } },
    one: { anyOf: [{ type: "string" }, { $ref: "#/definitions/node" }] },
    two: { oneOf: [{ enum: ["a", 1] }, { not: { type: "string" } }], allOf: [{ $ref: "#named" }] },
    named: { $ref: "#/$defs/of%20a/more~1" },
    when: {
      if: { type: "string" },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { minLength: 1 },
      else: { type: "null" },
      nullable: true,
      type: "string",
    },
    open: { patternProperties: { "^x-": { type: "string" } }, additionalProperties: { type: "null" } },
    bound: { minProperties: 1, maxProperties: 2, propertyNames: { pattern: "^[a-z]*$" } },
    bound2: { dependencies: { a: ["b"], c: { required: ["d"] } }, "x-unknown": { type: 5 } },
  },
  required: ["text"],
  $defs: { "of a": { "more/": { type: "string" } }, unused: { type: 5 } },
  definitions: {
    node: { type: "object", properties: { next: { $ref: "#" } } },
    it: { $anchor: "named", type: "string" },
  },
};

/** What may stand where something else should. */
const ODD: readonly unknown[] = [
  ...[null, true, false, 0, 7, -1, 0.5, 1.5, "", "text", "object", "array", "dark"],
  ...[[], {}, [null], ["text"], ["user"], [1], [{}], [[]], [true], { x: null }, { x: 1 }, { x: true }],
  ...[{ x: {} }, { x: [] }, { type: "string" }, { type: "object" }, { type: ["object"] }, { src: "x" }],
  ...[
    "2025-01-12T15:00:58+01:00",
    "2025-02-29T00:00:00Z",
    "2024-02-29T00:00:00Z",
    "2025-01-12",
    "0000-02-29T00:00:00.5Z",
  ],
];

export interface Mutation {
  /** Such as `tools: annotations.title = null`. */
  readonly name: string;
  readonly list: List;
  readonly entry: unknown;
}

/** Every way in which one part of `RICH_SCHEMA` can be missing or odd. */
export function schemaMutations(): readonly Mutation[] {
  const odd = [
    ...ODD,
    "[",
    { type: 5 },
    { $ref: "#/nowhere" },
    [{ type: "nope" }],
    { "[": { type: "string" } },
  ];
  return paths(RICH_SCHEMA).flatMap((path) =>
    [undefined, ...odd].map((value) => ({
      name: `${path.join(".")} = ${JSON.stringify(value)}`,
      list: "tools" as const,
      entry: { ...WHOLE.tools, outputSchema: changed(besides(path), path, value) },
    })),
  );
}

/** `RICH_SCHEMA` with no property but the one that `path` leads through: validators compile each, and none depends on another. */
function besides([member, key = ""]: readonly string[]): Json {
  if (member !== "properties" || key === "") return RICH_SCHEMA;
  const properties = RICH_SCHEMA.properties as Json;
  return { ...RICH_SCHEMA, properties: { [key]: properties[key] } };
}

/** What a server may say of itself, with every member that a revision defines. */
export const WHOLE_CAPABILITIES: Json = {
  experimental: { a: { b: 1 }, c: {} },
  extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html"] } },
  logging: {},
  completions: {},
  tools: { listChanged: true },
  prompts: { listChanged: false },
  resources: { listChanged: true, subscribe: true },
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  "x-vendor": { deep: { er: true } },
};
export const WHOLE_INFO: Json = {
  name: "whole",
  version: "1.0.0",
  title: "Whole",
  description: "all of it",
  websiteUrl: "https://x",
  icons: ICONS,
};

/** Every way in which one member of `whole` can be missing or odd. */
export const oddOnes = (whole: Json): readonly { readonly name: string; readonly odd: Json }[] =>
  paths(whole).flatMap((path) =>
    [undefined, ...ODD].map((value) => ({
      name: `${path.join(".")} = ${JSON.stringify(value)}`,
      odd: changed(whole, path, value) as Json,
    })),
  );

/** Every way in which one member of an entry of `list` can be missing or odd, and entries that are no objects. */
export function mutationsOf(list: List): readonly Mutation[] {
  const whole = WHOLE[list];
  const odd = ODD.map((entry) => ({ name: `${list}: ${JSON.stringify(entry)}`, list, entry }));
  const members = paths(whole).flatMap((path) => [
    { name: `${list}: without ${path.join(".")}`, list, entry: changed(whole, path, undefined) },
    ...ODD.map((value) => ({
      name: `${list}: ${path.join(".")} = ${JSON.stringify(value)}`,
      list,
      entry: changed(whole, path, value),
    })),
  ]);
  return [...odd, ...members];
}

function paths(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, one]) => paths(one, [...path, key]));
  return path.length === 0 ? inner : [path, ...inner];
}

/** A copy with `value` at `path`; without the member where that is undefined. */
function changed(whole: unknown, [key = "", ...rest]: readonly string[], value: unknown): unknown {
  const copy = (Array.isArray(whole) ? [...whole] : { ...(whole as object) }) as Record<string, unknown>;
  if (rest.length > 0) copy[key] = changed(copy[key], rest, value);
  else if (value !== undefined) copy[key] = value;
  else if (Array.isArray(copy)) copy.splice(Number(key), 1);
  else delete copy[key];
  return copy;
}
