/** Overrides of single tools: how the config changes their definition and arguments. */
import { argumentNamesOf, MemberGivenTwice } from "../core/argument-names.js";
import type { ConfiguredArguments } from "../core/call.js";
import { type JsonObject, objectAt, stringAt, without } from "../wire/json.js";
import { withoutProperties } from "./without-properties.js";

/** The override of one tool. */
export interface ToolOverride {
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: ConfiguredArguments;
}

/** An overridden tool. */
export interface OverriddenTool {
  /** The name instead of its own. */
  readonly name: string;
  /** The arguments that the config sets, by the names that `item`, its own list entry, has for them. */
  argumentsFor(item: JsonObject): ConfiguredArguments | undefined;
  /** The description instead of its own. */
  readonly description: string | undefined;
  /** Its list entry as hosts see it, except the name. */
  apply(item: JsonObject): JsonObject;
}

/** The tool overrides of one server. */
export class ToolOverrides {
  readonly #overrides: Readonly<Record<string, ToolOverride>>;
  readonly #tools: ReadonlyMap<string, OverriddenTool>;
  /** Unknown names already reported. */
  readonly #reported = new Set<string>();

  /** @param overrides by the server's own names */
  constructor(overrides: Readonly<Record<string, ToolOverride>>) {
    this.#overrides = overrides;
    this.#tools = new Map(
      Object.entries(overrides).map(([own, override]) => [own, overriddenTool(own, override)]),
    );
  }

  of(own: string): OverriddenTool | undefined {
    return this.#tools.get(own);
  }

  /**
   * The overridden names missing from this list, each reported once. One override may have two names, of which the list
   * has one.
   */
  missing(items: readonly JsonObject[]): readonly string[] {
    const listed = new Set(items.map((item) => stringAt(item, "name")));
    const found = new Set(
      Object.keys(this.#overrides)
        .filter((own) => listed.has(own))
        .map((own) => this.#overrides[own]),
    );
    const seen = new Set<ToolOverride>();
    const missing = Object.entries(this.#overrides).flatMap(([own, override]) => {
      const known = found.has(override) || seen.has(override) || this.#reported.has(own);
      seen.add(override);
      return known ? [] : [own];
    });
    for (const own of missing) this.#reported.add(own);
    return missing;
  }
}

function overriddenTool(
  own: string,
  { name, title, description, arguments: given }: ToolOverride,
): OverriddenTool {
  const words: JsonObject = {
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
  };
  // List entries are immutable, and shared by every merged list.
  const shown = new WeakMap<JsonObject, JsonObject>();
  return {
    name: name ?? own,
    description,
    argumentsFor: (item) => byListedNames(item, given),
    apply(item) {
      let entry = shown.get(item);
      if (entry === undefined) {
        const schema = objectAt(item, "inputSchema");
        const configuredArguments = byListedNames(item, given);
        const asks = schema !== undefined && configuredArguments !== undefined;
        entry = { ...item, ...words, ...(asks && { inputSchema: schemaFor(schema, configuredArguments) }) };
        shown.set(item, entry);
      }
      return entry;
    },
  };
}

/** A tool of an HTTP API may list an argument under another name than the API has; the config may use both. */
function byListedNames(
  item: JsonObject,
  given: ConfiguredArguments | undefined,
): ConfiguredArguments | undefined {
  const names = given === undefined ? undefined : argumentNamesOf(item);
  if (given === undefined || names === undefined) return given;
  const listed = (values: JsonObject): JsonObject => {
    try {
      return objectAt({ values: names.toListed(values) }, "values") ?? values;
    } catch (error) {
      // One argument under both names: the call is refused, as with any argument that the tool has not.
      if (error instanceof MemberGivenTwice) return values;
      throw error;
    }
  };
  return { defaults: listed(given.defaults), fixed: listed(given.fixed) };
}

/** The schema without fixed arguments; arguments with a default become optional, and show it. */
function schemaFor(schema: JsonObject, { defaults, fixed }: ConfiguredArguments): JsonObject {
  const whole = withoutProperties(schema, Object.keys(fixed));
  const open = objectAt(whole, "properties");
  const asked: readonly unknown[] | undefined = Array.isArray(schema.required) ? schema.required : undefined;
  const required = asked?.filter(
    (name) => typeof name !== "string" || !(Object.hasOwn(fixed, name) || Object.hasOwn(defaults, name)),
  );
  return {
    // An empty list is not allowed in every draft.
    ...(required?.length === 0 ? without(whole, ["required"]) : whole),
    ...(open !== undefined && { properties: withDefaults(open, defaults) }),
    ...(required !== undefined && required.length > 0 && { required }),
  };
}

const withDefaults = (properties: JsonObject, defaults: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const known = Object.hasOwn(defaults, name) && objectAt(properties, name) !== undefined;
      return [name, known ? { ...objectAt(properties, name), default: defaults[name] } : property];
    }),
  );
