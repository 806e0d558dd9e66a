/** Under which names are arguments listed, so that models take them? Whatever the order of the document. */
import { createHash } from "node:crypto";
import { MemberNames } from "../../core/argument-names.js";
import { isObject, type JsonObject, objectAt } from "../../wire/json.js";
import { mapSubschemas } from "../../wire/subschemas.js";
import type { ParameterPlace } from "./operation.js";

/** What Anthropic's models accept as a key of `properties`; one other key makes them refuse all tools. */
const SAFE_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

const isSafe = (name: string): boolean => SAFE_NAME.test(name) && name !== "__proto__";

/** A parameter, by which its argument is named. */
export interface NamedParameter {
  readonly place: ParameterPlace;
  readonly name: string;
}

/** The names of one tool's arguments. */
export interface ListedNames<P extends NamedParameter> {
  /** The argument of each parameter. */
  readonly arguments: ReadonlyMap<P, string>;
  /** Names of the API by the names that are listed instead, of arguments and of their members. */
  readonly replaced: ReadonlyMap<string, string>;
  /** A schema of an argument, or `$defs`, with listed names. */
  rename(schema: unknown): unknown;
}

/**
 * Safe names stay unchanged. Of parameters of one name in several places the first keeps it, in the order path,
 * query, header, cookie; the others have their place before it: `query_id`.
 *
 * @param parameters in the order of their places
 * @param schemas of the arguments, and `$defs`; members of the body are named too
 */
export function listedNames<P extends NamedParameter>(
  parameters: readonly P[],
  hasBody: boolean,
  schemas: readonly unknown[],
): ListedNames<P> {
  const members = memberNames(schemas);
  const owners = new Map<string, P>();
  for (const parameter of parameters)
    if (!owners.has(parameter.name) && !(hasBody && parameter.name === "body"))
      owners.set(parameter.name, parameter);
  const isOwner = (parameter: P): boolean => owners.get(parameter.name) === parameter;
  const taken = new Set([...members, ...owners.keys(), ...(hasBody ? ["body"] : [])].filter(isSafe));
  const unsafe = new Set([...members, ...owners.keys()].filter((name) => !isSafe(name)));
  const wanted: Wanted[] = [
    ...[...unsafe].map((name) => ({ key: name, text: name })),
    ...parameters
      .filter((one) => !isOwner(one))
      .map(({ place, name }) => ({ key: `${place} ${name}`, text: `${place}_${name}` })),
  ];
  const free = freeNames(wanted, taken);
  const argumentOf = (parameter: P): string => {
    const { place, name } = parameter;
    if (isOwner(parameter)) return isSafe(name) ? name : (free.get(name) ?? name);
    return free.get(`${place} ${name}`) ?? name;
  };
  const listed = new Map([...unsafe].map((name) => [name, free.get(name) ?? name]));
  const others = parameters.filter((one) => !isOwner(one) && !isSafe(one.name));
  return {
    arguments: new Map(parameters.map((one) => [one, argumentOf(one)])),
    replaced: new Map([
      ...[...listed].map(([own, name]) => [name, own] as const),
      ...others.map((one) => [argumentOf(one), one.name] as const),
    ]),
    rename: (schema) => (listed.size === 0 ? schema : renamedSchema(schema, listed)),
  };
}

interface Wanted {
  /** What the hash is made of: the same for the same parameter in any document. */
  readonly key: string;
  readonly text: string;
}

/** A name for each key. Where two would have one name, both have a hash, so that their order does not matter. */
function freeNames(wanted: readonly Wanted[], taken: ReadonlySet<string>): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  const plain = wanted.map(({ key, text }) => ({ key, text: plainName(text) }));
  for (const { text } of plain) counts.set(text, (counts.get(text) ?? 0) + 1);
  return new Map(
    plain.map(({ key, text }) => {
      const isFree = isSafe(text) && counts.get(text) === 1 && !taken.has(text);
      return [key, isFree ? text : hashedName(text, key)];
    }),
  );
}

/** `filter_name` for `filter[name]`, `top` for `$top`; letters lose their accents. */
const plainName = (name: string): string =>
  name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^a-zA-Z0-9_.-]+/g, " ")
    .trim()
    .replaceAll(" ", "_");

function hashedName(text: string, key: string): string {
  const digest = createHash("sha256").update(key, "utf8").digest("hex").slice(0, HASH_LENGTH);
  const start = text.slice(0, MAX_LENGTH - HASH_LENGTH - 1).replace(/[_.-]+$/, "");
  return `${start === "" ? "argument" : start}_${digest}`;
}

const BY_MEMBER = ["properties", "dependentSchemas", "dependentRequired"] as const;

/** The names of all members that the schemas describe, at any depth. */
function memberNames(schemas: readonly unknown[]): ReadonlySet<string> {
  const names = new Set<string>();
  const waiting: unknown[] = [...schemas];
  while (waiting.length > 0) {
    const schema = waiting.pop();
    if (Array.isArray(schema)) waiting.push(...(schema as readonly unknown[]));
    if (!isObject(schema)) continue;
    for (const name of Object.keys(objectAt(schema, "properties") ?? {})) names.add(name);
    mapSubschemas(schema, (inner) => void waiting.push(inner));
  }
  return names;
}

type Names = ReadonlyMap<string, string>;

/** Every object schema of `schema` with listed names instead of the API's. */
function renamedSchema(schema: unknown, names: Names): unknown {
  if (Array.isArray(schema)) return schema.map((one) => renamedSchema(one, names));
  if (!isObject(schema)) return schema;
  const changed: Record<string, unknown> = { ...mapSubschemas(schema, (one) => renamedSchema(one, names)) };
  for (const keyword of BY_MEMBER) {
    const members = changed[keyword];
    if (isObject(members)) changed[keyword] = withListedKeys(members, names, keyword === "properties");
  }
  const listed = (name: unknown): unknown => (typeof name === "string" ? (names.get(name) ?? name) : name);
  if (Array.isArray(changed.required)) changed.required = changed.required.map(listed);
  if (isObject(changed.dependentRequired))
    changed.dependentRequired = Object.fromEntries(
      Object.entries(changed.dependentRequired).map(([name, list]) => [
        name,
        Array.isArray(list) ? list.map(listed) : list,
      ]),
    );
  const isRenamed = Object.keys(objectAt(schema, "properties") ?? {}).some((name) => names.has(name));
  // It would be about the names of the API.
  if (isRenamed) delete changed.propertyNames;
  return changed;
}

function withListedKeys(members: JsonObject, names: Names, isDescribed: boolean): JsonObject {
  return Object.fromEntries(
    Object.entries(members).map(([own, schema]) => {
      const listed = names.get(own);
      if (listed === undefined) return [own, schema];
      return [listed, isDescribed ? describedAs(schema, own) : schema];
    }),
  );
}

/** The schema with the API's name in its description: other texts of the document use that one. */
export function describedAs(schema: unknown, own: string): unknown {
  if (!isObject(schema)) return schema;
  const words = typeof schema.description === "string" ? `${schema.description} ` : "";
  return { ...schema, description: `${words}(In the API: ${own})` };
}

const DATA = ["default", "examples", "enum", "const"] as const;

/** The input schema with listed names in its examples too. */
export function withListedData(inputSchema: JsonObject, replaced: ReadonlyMap<string, string>): JsonObject {
  const names = new MemberNames(inputSchema, Object.fromEntries(replaced));
  const change = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(change);
    if (!isObject(schema)) return schema;
    const changed: Record<string, unknown> = { ...mapSubschemas(schema, change) };
    for (const keyword of DATA) {
      const data = changed[keyword];
      if (data === undefined) continue;
      const isList = Array.isArray(data) && (keyword === "examples" || keyword === "enum");
      changed[keyword] = isList
        ? data.map((one) => names.toListed(one, schema))
        : names.toListed(data, schema);
    }
    return changed;
  };
  return change(inputSchema) as JsonObject;
}
