/**
 * Does a validator take a tool's schema? One that its dialect's meta-schema refuses (`type: "any"`, `minLength: "3"`) stops
 * the whole request of a host whose model API checks schemas. Patterns, formats, references and unknown keywords are not
 * checked: dialects of regular expressions differ.
 */
import { isObject, type JsonObject, numberOf, stringAt } from "../wire/json.js";
import type { Flaw } from "./list-entries.js";

/** A schema to check, with the way to it. */
interface Place {
  readonly schema: unknown;
  readonly step: string;
  readonly parent: Place | undefined;
}

/**
 * The first flaw of a schema by the dialect that its `$schema` names, without one 2020-12 (2026-07-28, basic/index, "JSON
 * Schema Usage"); undefined where it is valid, or its dialect is another one. The time is proportional to its size, which lists limit (16,384 values take about 5 ms).
 *
 * @param at its path in the entry
 */
export function schemaFlaw(schema: JsonObject, at: string): Flaw | undefined {
  const keywords = dialectOf(schema);
  if (keywords === undefined) return undefined;
  const waiting: Place[] = [{ schema, step: at, parent: undefined }];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const inner = place.schema;
    if (typeof inner === "boolean") continue;
    if (!isObject(inner))
      return { member: pathOf(place), reason: "must be a schema: an object, true or false" };
    for (const key of Object.keys(inner)) {
      const keyword = keywords.get(key);
      const fault = keyword?.fault(inner[key]);
      if (fault !== undefined) return { member: `${pathOf(place)}.${key}`, reason: `must be ${fault}` };
      if (keyword?.holds !== undefined)
        for (const one of placesIn(inner[key], keyword.holds, key, place)) waiting.push(one);
    }
  }
  return undefined;
}

const MAX_PATH_LENGTH = 300;

function pathOf(place: Place): string {
  const steps: string[] = [];
  for (let one: Place | undefined = place; one !== undefined; one = one.parent) steps.push(one.step);
  const path = steps.toReversed().join("");
  return path.length <= MAX_PATH_LENGTH ? path : `${path.slice(0, MAX_PATH_LENGTH)}…`;
}

/** Which schemas the value of a keyword is or holds. */
type Holding = "schema" | "list" | "schema or list" | "map" | "map of schemas or names";

function placesIn(value: unknown, holding: Holding, key: string, parent: Place): readonly Place[] {
  if (holding === "schema" || (holding === "schema or list" && !Array.isArray(value)))
    return [{ schema: value, step: `.${key}`, parent }];
  if (Array.isArray(value))
    return value.map((schema: unknown, at) => ({ schema, step: `.${key}[${at}]`, parent }));
  return Object.entries(isObject(value) ? value : {}).flatMap(([name, schema]) =>
    holding === "map of schemas or names" && Array.isArray(schema)
      ? []
      : [{ schema, step: `.${key}.${name.slice(0, 100)}`, parent }],
  );
}

/** A keyword: what its value must be, where it is something else, and which schemas it holds. */
interface Keyword {
  fault(value: unknown): string | undefined;
  readonly holds?: Holding;
}

type Keywords = ReadonlyMap<string, Keyword>;

const TYPES: ReadonlySet<unknown> = new Set([
  ...["array", "boolean", "integer", "null", "number", "object", "string"],
]);

const must =
  (what: string, test: (value: unknown) => boolean) =>
  (value: unknown): string | undefined =>
    test(value) ? undefined : what;
const isText = (value: unknown): boolean => typeof value === "string";
const areUnique = (list: readonly unknown[]): boolean => new Set(list).size === list.length;
const areNames = (value: unknown): boolean => Array.isArray(value) && value.every(isText) && areUnique(value);
const isType = (value: unknown): boolean =>
  Array.isArray(value)
    ? value.length > 0 && value.every((one) => TYPES.has(one)) && areUnique(value)
    : TYPES.has(value);

const text: Keyword = { fault: must("a string", isText) };
const flag: Keyword = { fault: must("true or false", (value) => typeof value === "boolean") };
const number: Keyword = { fault: must("a number", (value) => numberOf(value) !== undefined) };
const positive: Keyword = { fault: must("a number above 0", (value) => (numberOf(value) ?? 0) > 0) };
const count: Keyword = {
  fault: must("a whole number from 0 on", (value) => {
    const given = numberOf(value);
    return (
      given !== undefined && given >= 0 && (Number.isInteger(given) || given === Number.POSITIVE_INFINITY)
    );
  }),
};
const list: Keyword = { fault: must("a list", Array.isArray) };
const filledList: Keyword = {
  fault: must("a list that is not empty", (value) => Array.isArray(value) && value.length > 0),
};
const names: Keyword = { fault: must("a list of different strings", areNames) };
const filledNames: Keyword = {
  fault: must(
    "a list of different strings that is not empty",
    (value) => areNames(value) && (value as readonly unknown[]).length > 0,
  ),
};
const type: Keyword = { fault: must("a type of JSON, or a list of different ones", isType) };
const namesByName: Keyword = {
  fault: must(
    "lists of different strings by name",
    (value) => isObject(value) && Object.values(value).every(areNames),
  ),
};
const schema: Keyword = { fault: () => undefined, holds: "schema" };
const schemas: Keyword = {
  fault: must("a list of schemas that is not empty", (value) => Array.isArray(value) && value.length > 0),
  holds: "list",
};
const schemaOrList: Keyword = {
  fault: must(
    "a schema, or a list of them that is not empty",
    (value) => !Array.isArray(value) || value.length > 0,
  ),
  holds: "schema or list",
};
const schemasByName: Keyword = { fault: must("an object of schemas", isObject), holds: "map" };
const dependencies: Keyword = {
  fault: must(
    "schemas or lists of different strings by name",
    (value) => isObject(value) && Object.values(value).every((one) => !Array.isArray(one) || areNames(one)),
  ),
  holds: "map of schemas or names",
};

const each = (keys: readonly string[], keyword: Keyword): readonly (readonly [string, Keyword])[] =>
  keys.map((key) => [key, keyword] as const);

/** What all drafts from 4 on have. */
const COMMON: readonly (readonly [string, Keyword])[] = [
  ...each(["$schema", "title", "description", "pattern", "format"], text),
  ...each(["minimum", "maximum"], number),
  ...each(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"], count),
  ...each(["properties", "patternProperties", "definitions"], schemasByName),
  ...each(["anyOf", "oneOf", "allOf"], schemas),
  ...each(["not", "additionalProperties"], schema),
  ["type", type],
  ["multipleOf", positive],
  ["uniqueItems", flag],
  ["dependencies", dependencies],
];

const DRAFT_4: Keywords = new Map<string, Keyword>([
  ...COMMON,
  ...each(["exclusiveMinimum", "exclusiveMaximum"], flag),
  ["id", text],
  ["required", filledNames],
  ["enum", filledList],
  ["items", schemaOrList],
  ["additionalItems", schema],
]);

/** Those of draft 6, which later ones keep. */
const SINCE_DRAFT_6: readonly (readonly [string, Keyword])[] = [
  ...COMMON,
  ...each(["$id", "$ref"], text),
  ...each(["exclusiveMinimum", "exclusiveMaximum"], number),
  ...each(["contains", "propertyNames"], schema),
  ...each(["examples", "enum"], list),
  ["required", names],
];

const DRAFT_6: Keywords = new Map([
  ...SINCE_DRAFT_6,
  ["items", schemaOrList],
  ["additionalItems", schema],
] as const);

const DRAFT_7: Keywords = new Map([
  ...DRAFT_6,
  ...each(["if", "then", "else"], schema),
  ...each(["$comment", "contentMediaType", "contentEncoding"], text),
  ["readOnly", flag],
] as const);

const SINCE_2019: readonly (readonly [string, Keyword])[] = [
  ...SINCE_DRAFT_6,
  ...each(["if", "then", "else", "contentSchema", "unevaluatedItems", "unevaluatedProperties"], schema),
  ...each(["$comment", "contentMediaType", "contentEncoding", "$anchor"], text),
  ...each(["readOnly", "writeOnly", "deprecated"], flag),
  ...each(["minContains", "maxContains"], count),
  ...each(["$defs", "dependentSchemas"], schemasByName),
  ["dependentRequired", namesByName],
];

const DRAFT_2019: Keywords = new Map([
  ...SINCE_2019,
  ["items", schemaOrList],
  ["additionalItems", schema],
  ["$recursiveRef", text],
  ["$recursiveAnchor", flag],
] as const);

const DRAFT_2020: Keywords = new Map([
  ...SINCE_2019,
  ...each(["$dynamicRef", "$dynamicAnchor", "$recursiveRef"], text),
  ["items", schema],
  ["prefixItems", schemas],
] as const);

const DIALECTS: ReadonlyMap<string, Keywords> = new Map([
  ["draft-04", DRAFT_4],
  ["draft-06", DRAFT_6],
  ["draft-07", DRAFT_7],
  ["draft/2019-09", DRAFT_2019],
  ["draft/2020-12", DRAFT_2020],
]);

function dialectOf(root: JsonObject): Keywords | undefined {
  if (!Object.hasOwn(root, "$schema")) return DRAFT_2020;
  const [, name = ""] =
    /^https?:\/\/json-schema\.org\/(.+)\/schema#?$/.exec(stringAt(root, "$schema") ?? "") ?? [];
  return DIALECTS.get(name);
}
