/** What do the APIs of each family of models refuse in the schema of a tool? One refused schema stops the whole request. */

/** A family of models. */
export type SchemaDialect = "openai" | "gemini" | "anthropic";

/** What one family takes. */
export interface Family {
  /** Keywords that are kept; absent: all but those of `drops`. */
  readonly keeps?: ReadonlySet<string>;
  readonly drops: ReadonlySet<string>;
  /** Keywords that are refused at the top only. */
  readonly dropsAtTop: ReadonlySet<string>;
  /** Whether `oneOf`, `allOf` and `const` are refused below the top too. */
  readonly composesByAnyOf: boolean;
  /** Whether references are refused, so that what they lead to takes their place. */
  readonly inlinesReferences: boolean;
  /** Whether a schema has one type: `null` among several is `nullable`. */
  readonly hasOneType: boolean;
  /** Formats that are taken; absent: all. */
  readonly formats?: ReadonlySet<string>;
  /** Whether the values of an `enum` must be texts. */
  readonly listsTextsOnly: boolean;
  /** Whether a list without `items` is refused. */
  readonly needsItems: boolean;
  /** What keys of `properties` at the top must be. */
  readonly keys?: RegExp;
}

const COMPOSITION = ["anyOf", "oneOf", "allOf"];
const CONTENT = ["contentEncoding", "contentMediaType", "contentSchema"];
const CONDITIONS = ["not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies"];

/** By name in the config. */
export const FAMILIES: Readonly<Record<SchemaDialect, Family>> = {
  anthropic: {
    drops: new Set(CONTENT),
    dropsAtTop: new Set(COMPOSITION),
    composesByAnyOf: false,
    inlinesReferences: false,
    hasOneType: false,
    listsTextsOnly: false,
    needsItems: false,
    keys: /^[a-zA-Z0-9_.-]{1,64}$/,
  },
  openai: {
    drops: new Set([...CONTENT, ...CONDITIONS, "propertyNames", "unevaluatedProperties", "unevaluatedItems"]),
    dropsAtTop: new Set([...COMPOSITION, "enum", "const"]),
    composesByAnyOf: true,
    inlinesReferences: false,
    hasOneType: false,
    formats: new Set([
      ...["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
    ]),
    listsTextsOnly: false,
    needsItems: true,
  },
  gemini: {
    keeps: new Set([
      ...["type", "nullable", "format", "title", "description", "enum", "default", "items", "properties"],
      ...["required", "anyOf", "minItems", "maxItems", "minProperties", "maxProperties", "minLength"],
      ...["maxLength", "pattern", "minimum", "maximum"],
    ]),
    drops: new Set(),
    dropsAtTop: new Set([...COMPOSITION, "enum", "const"]),
    composesByAnyOf: true,
    inlinesReferences: true,
    hasOneType: true,
    formats: new Set(["date-time", "enum", "float", "double", "int32", "int64"]),
    listsTextsOnly: true,
    needsItems: true,
  },
};
