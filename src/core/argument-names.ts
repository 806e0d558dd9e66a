/**
 * How do the listed names of arguments become the names that an HTTP API has, and back? Models take other names than APIs
 * have (`filter[name]`), so a list entry says in `_meta` which names it has replaced.
 */
import { isObject, type JsonObject, objectAt, stringAt } from "../wire/json.js";

/** The key in `_meta` of a tool: names of the API, by the names that the input schema lists instead. */
export const ARGUMENT_NAMES = "cardea/argumentNames";

/** Names of the API by listed names; a name that is listed as it is has no entry. */
export type ArgumentNames = Readonly<Record<string, string>>;

/** The replaced names of a tool; undefined where it has none. */
export function argumentNames(item: JsonObject | undefined): ArgumentNames | undefined {
  const names = objectAt(objectAt(item, "_meta"), ARGUMENT_NAMES);
  if (names === undefined || !Object.values(names).every((own) => typeof own === "string")) return undefined;
  return names as ArgumentNames;
}

const memberNames = new WeakMap<JsonObject, MemberNames>();

/** The renaming of the arguments of a tool, by its own list entry; undefined where it has none. */
export function argumentNamesOf(item: JsonObject | undefined): MemberNames | undefined {
  if (item === undefined) return undefined;
  const known = memberNames.get(item);
  if (known !== undefined) return known;
  const names = argumentNames(item);
  const schema = objectAt(item, "inputSchema");
  if (names === undefined || schema === undefined) return undefined;
  const made = new MemberNames(schema, names);
  memberNames.set(item, made);
  return made;
}

/** A member is given under two of its names. */
export class MemberGivenTwice extends Error {
  override readonly name = "MemberGivenTwice";
  /** @param keys the name that was given, and the one that the value has too */
  constructor(readonly keys: readonly [given: string, other: string]) {
    super(`"${keys[0].slice(0, 100)}" and "${keys[1].slice(0, 100)}" are the same argument`);
  }
}

/** The keys that a member gets instead of its own, and the name by which the schema lists it. */
interface Renaming {
  readonly keys: readonly string[];
  readonly listed: string;
}

type Choice = (key: string, isListed: (name: string) => boolean) => Renaming;

const same = (key: string): Renaming => ({ keys: [key], listed: key });

/** Renames the members of values along the schema that describes them; what the schema does not describe stays. */
export class MemberNames {
  readonly #root: JsonObject;
  readonly #own: ReadonlyMap<string, string>;
  readonly #listed = new Map<string, string[]>();

  /** @param root the input schema with listed names, and its `$defs` */
  constructor(root: JsonObject, names: ArgumentNames) {
    this.#root = root;
    this.#own = new Map(Object.entries(names));
    for (const [listed, own] of this.#own) this.#listed.set(own, [...(this.#listed.get(own) ?? []), listed]);
  }

  /** @throws MemberGivenTwice */
  toOwn(value: unknown, schema: unknown): unknown {
    return this.#renamed(value, [schema], (key, isListed) => {
      const own = this.#own.get(key);
      return own === undefined || !isListed(key) ? same(key) : { keys: [own], listed: key };
    });
  }

  /** All arguments with the API's names; undefined where two arguments have one, in different places of the request. */
  toOwnIfDistinct(value: unknown): unknown {
    try {
      return this.toOwn(value, this.#root);
    } catch (error) {
      if (error instanceof MemberGivenTwice) return undefined;
      throw error;
    }
  }

  /** @throws MemberGivenTwice */
  toListed(value: unknown, schema: unknown = this.#root): unknown {
    return this.#renamed(value, [schema], (key, isListed) => {
      const [listed, second] = isListed(key) ? [] : (this.#listed.get(key) ?? []).filter(isListed);
      return listed === undefined || second !== undefined ? same(key) : { keys: [listed], listed };
    });
  }

  /** With each renamed member under both of its names, for rules that use either. */
  withBoth(value: unknown): unknown {
    return this.#renamed(value, [this.#root], (key, isListed) => {
      const own = this.#own.get(key);
      const isPlain = own === undefined || !isListed(key) || isListed(own);
      return isPlain ? same(key) : { keys: [key, own], listed: key };
    });
  }

  #renamed(value: unknown, schemas: readonly unknown[], choose: Choice): unknown {
    if (Array.isArray(value)) {
      const inner = this.#parts(schemas).flatMap(itemSchemas);
      if (inner.length === 0) return value;
      const items = value.map((item) => this.#renamed(item, inner, choose));
      return items.some((item, at) => item !== value[at]) ? items : value;
    }
    return isObject(value) ? this.#object(value, this.#parts(schemas), choose) : value;
  }

  #object(value: JsonObject, parts: readonly JsonObject[], choose: Choice): JsonObject {
    if (parts.length === 0) return value;
    const isListed = (name: string): boolean => parts.some((part) => propertyOf(part, name) !== undefined);
    const members = new Map<string, unknown>();
    const givenAs = new Map<string, string>();
    let isChanged = false;
    for (const [key, inner] of Object.entries(value)) {
      const { keys, listed } = choose(key, isListed);
      const renamed = this.#renamed(inner, memberSchemas(parts, listed), choose);
      isChanged ||= renamed !== inner || keys.length > 1 || keys[0] !== key;
      for (const name of keys) {
        const before = givenAs.get(name);
        if (before !== undefined) throw new MemberGivenTwice([key, before]);
        givenAs.set(name, key);
        members.set(name, renamed);
      }
    }
    return isChanged ? Object.fromEntries(members) : value;
  }

  /** The schemas with all that they are composed of, each once. */
  #parts(schemas: readonly unknown[]): readonly JsonObject[] {
    const found = new Set<JsonObject>();
    const waiting = [...schemas];
    while (waiting.length > 0 && found.size < MAX_PARTS) {
      const part = waiting.pop();
      if (!isObject(part) || found.has(part)) continue;
      found.add(part);
      const ref = stringAt(part, "$ref");
      if (ref !== undefined) waiting.push(this.#target(ref));
      for (const list of [part.allOf, part.anyOf, part.oneOf])
        if (Array.isArray(list)) waiting.push(...(list as readonly unknown[]));
      waiting.push(part.then, part.else, ...Object.values(objectAt(part, "dependentSchemas") ?? {}));
    }
    return [...found];
  }

  /** Generated schemas refer to their `$defs` only. */
  #target(ref: string): unknown {
    if (ref === "#") return this.#root;
    if (!ref.startsWith("#/$defs/")) return undefined;
    return objectAt(this.#root, "$defs")?.[ref.slice("#/$defs/".length)];
  }
}

/** The most parts of one schema that are looked at. */
const MAX_PARTS = 1_000;

function propertyOf(part: JsonObject, name: string): unknown {
  const properties = objectAt(part, "properties");
  return properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function memberSchemas(parts: readonly JsonObject[], name: string): readonly unknown[] {
  const described = parts.map((part) => propertyOf(part, name)).filter((schema) => schema !== undefined);
  if (described.length > 0) return described;
  return parts.flatMap(({ additionalProperties, unevaluatedProperties, patternProperties }) => [
    ...[additionalProperties, unevaluatedProperties].filter(isObject),
    ...(isObject(patternProperties) ? Object.values(patternProperties) : []),
  ]);
}

const itemSchemas = ({ items, prefixItems, contains }: JsonObject): readonly unknown[] =>
  [items, contains, ...(Array.isArray(prefixItems) ? (prefixItems as readonly unknown[]) : [])].filter(
    isObject,
  );
