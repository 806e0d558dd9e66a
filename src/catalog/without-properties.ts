/**
 * A schema without some of its properties: what the rest of it still refers to moves to `$defs`, so that no reference is
 * left without a target.
 */
import { isObject, type JsonObject, objectAt, stringAt, without } from "../wire/json.js";
import { mapSubschemas } from "../wire/subschemas.js";

/** `schema` without the properties `names`; their entries in other keywords stay. */
export function withoutProperties(schema: JsonObject, names: readonly string[]): JsonObject {
  const properties = objectAt(schema, "properties");
  if (properties === undefined || !names.some((name) => Object.hasOwn(properties, name))) return schema;
  const removed = new Map(
    names.flatMap((name) => (Object.hasOwn(properties, name) ? [[name, properties[name]] as const] : [])),
  );
  const rest = { ...schema, properties: without(properties, names) };
  const references = new References(schema);
  const needed = references.neededOf(rest, removed);
  if (needed.size === 0) return rest;
  const taken = objectAt(schema, "$defs") ?? {};
  const moved = new Map<string, string>();
  for (const name of needed)
    moved.set(name, freeName(name, new Set([...Object.keys(taken), ...moved.values()])));
  const definitions = [...moved].map(([name, definition]) => [definition, removed.get(name)] as const);
  const whole = { ...rest, $defs: { ...taken, ...Object.fromEntries(definitions) } };
  return references.redirected(whole, moved);
}

/** Where schemas by URI are, for references without an absolute one. */
const NO_BASE = "http://schema.invalid/";
const KEYWORDS = ["$ref", "$dynamicRef", "$recursiveRef"] as const;

/** What a reference leads to: a part of the root by its JSON Pointer, or an anchor or URI. */
interface Target {
  /** The steps of a pointer into the root schema. */
  readonly steps?: readonly string[];
  /** The URI that anchors and `$id`s are compared by. */
  readonly uri: string;
}

class References {
  readonly #rootUri: string;

  constructor(root: JsonObject) {
    this.#rootUri = uriOf(root, NO_BASE);
  }

  /** The removed properties that `rest`, or a needed one, refers to. */
  neededOf(rest: JsonObject, removed: ReadonlyMap<string, unknown>): ReadonlySet<string> {
    const needed = new Set<string>();
    const addresses = new Map(
      [...removed].map(([name, schema]) => [name, this.#addressesIn(schema)] as const),
    );
    const waiting: (readonly [unknown, string])[] = [[rest, NO_BASE]];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      for (const { steps, uri } of this.#targetsIn(...next)) {
        for (const [name, schema] of removed) {
          const isPointed = steps?.[0] === "properties" && steps[1] === name;
          if (needed.has(name) || !(isPointed || addresses.get(name)?.has(uri) === true)) continue;
          needed.add(name);
          waiting.push([schema, this.#rootUri]);
        }
      }
    }
    return needed;
  }

  /** The schema with pointers to moved properties leading to their definitions. */
  redirected(schema: JsonObject, moved: ReadonlyMap<string, string>): JsonObject {
    const redirect = (value: unknown, base: string): unknown => {
      if (Array.isArray(value)) return value.map((one) => redirect(one, base));
      if (!isObject(value)) return value;
      const own = uriOf(value, base);
      const changed = mapSubschemas(value, (inner) => redirect(inner, own));
      const refs = KEYWORDS.flatMap((keyword) => {
        const ref = stringAt(changed, keyword);
        const steps = ref === undefined ? undefined : this.#target(ref, own).steps;
        const definition = steps?.[0] === "properties" ? moved.get(steps[1] ?? "") : undefined;
        if (ref === undefined || steps === undefined || definition === undefined) return [];
        const pointer = ["$defs", definition, ...steps.slice(2)].map(encodedStep).join("/");
        return [[keyword, `${ref.slice(0, ref.indexOf("#"))}#/${pointer}`] as const];
      });
      return refs.length === 0 ? changed : { ...changed, ...Object.fromEntries(refs) };
    };
    return redirect(schema, NO_BASE) as JsonObject;
  }

  #targetsIn(schema: unknown, outer: string): readonly Target[] {
    const targets: Target[] = [];
    visit(schema, outer, (inner, base) => {
      for (const keyword of KEYWORDS) {
        const ref = stringAt(inner, keyword);
        if (ref !== undefined) targets.push(this.#target(ref, base));
      }
    });
    return targets;
  }

  /** The URIs by which parts of a schema are found: their `$id`s and anchors. */
  #addressesIn(schema: unknown): ReadonlySet<string> {
    const found = new Set<string>();
    visit(schema, this.#rootUri, (inner, base) => {
      if (uriIn(inner) !== undefined) found.add(base);
      // Drafts before 2019-09 write an anchor as `$id`.
      const id = (stringAt(inner, "$id") ?? stringAt(inner, "id"))?.match(/^#(.+)$/)?.[1];
      for (const anchor of [stringAt(inner, "$anchor"), stringAt(inner, "$dynamicAnchor"), id])
        if (anchor !== undefined) found.add(`${base}#${anchor}`);
    });
    return found;
  }

  #target(ref: string, base: string): Target {
    const hash = ref.indexOf("#");
    const fragment = decoded(hash < 0 ? "" : ref.slice(hash + 1));
    const resource = resolved(hash < 0 ? ref : ref.slice(0, hash), base);
    const uri = fragment === "" || fragment.startsWith("/") ? resource : `${resource}#${fragment}`;
    if (resource !== this.#rootUri || !fragment.startsWith("/")) return { uri };
    const steps = fragment
      .slice(1)
      .split("/")
      .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    return { steps, uri };
  }
}

/** Calls `found` with each schema in `schema`, and the base URI of its references. */
function visit(schema: unknown, base: string, found: (schema: JsonObject, base: string) => void): void {
  const waiting: (readonly [unknown, string])[] = [[schema, base]];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    const [value, outer] = one;
    if (Array.isArray(value)) for (const item of value) waiting.push([item, outer]);
    if (!isObject(value)) continue;
    const own = uriOf(value, outer);
    found(value, own);
    mapSubschemas(value, (inner) => void waiting.push([inner, own]));
  }
}

/** The `$id` of a schema, without a fragment, which names no resource of its own; `id` in draft 4. */
function uriIn(schema: JsonObject): string | undefined {
  const id = stringAt(schema, "$id") ?? stringAt(schema, "id");
  const uri = id?.split("#", 1)[0];
  return uri === "" ? undefined : uri;
}

function uriOf(schema: JsonObject, base: string): string {
  const id = uriIn(schema);
  return id === undefined ? base : resolved(id, base);
}

const resolved = (uri: string, base: string): string =>
  uri === "" ? base : URL.canParse(uri, base) ? new URL(uri, base).href : uri;

const encodedStep = (step: string): string =>
  encodeURIComponent(step.replaceAll("~", "~0").replaceAll("/", "~1")).replaceAll("%24", "$");

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A name for a definition that needs no escapes in a pointer. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  const plain = name.replace(/[^\w.-]/g, "_");
  let free = plain;
  for (let number = 2; taken.has(free) || free === "__proto__"; number++) free = `${plain}_${number}`;
  return free;
}
