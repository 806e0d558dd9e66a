/**
 * Can hosts read a list entry? A host validates a list as a whole, so one malformed entry makes it reject the entries of
 * all servers. Checked are the members that the revisions define, by their schemas and as the official SDKs read them;
 * other members are not checked.
 */
import { isObject, numberOf, stringAt } from "../wire/json.js";
import { LISTS, type ListKind } from "./lists.js";
import { outputSchemaFlaw } from "./output-schema.js";
import { schemaFlaw } from "./schema-flaw.js";

/** The fault in a value: where in it, and why. */
export interface Flaw {
  /** A path such as `annotations.title` or `icons[0].src`; "" for the value itself. */
  readonly member: string;
  /** Such as `must be a string, not null`. */
  readonly reason: string;
}

/** A list entry that was left out, or a member of a list result that could not be used. */
export interface MalformedEntry extends Flaw {
  readonly list: ListKind;
  /** The entry's own name or URI, cut to 200 characters; absent if it has none, and for the result itself. */
  readonly name?: string;
}

/** Checks the value at path `at`; undefined if it is valid. */
type Rule = (value: unknown, at: string) => Flaw | undefined;

/** The first flaw of an entry of this list; undefined when hosts can read it. */
export function entryFlaw(kind: ListKind, entry: unknown): Flaw | undefined {
  return ENTRIES[kind](entry, "");
}

/** The first flaw of a server's `serverInfo`; undefined when hosts can read it. */
export const implementationFlaw = (info: unknown): Flaw | undefined => IMPLEMENTATION(info, "");

/** The first flaw of a task in a `tasks/list` (2025-11-25, basic/utilities/tasks); undefined when hosts can read it. */
export const taskFlaw = (task: unknown): Flaw | undefined => TASK(task, "");

/** The report of a malformed entry; one without a name is reported by its index in the list. */
export function malformedEntry(list: ListKind, entry: unknown, place: number, flaw: Flaw): MalformedEntry {
  const name = isObject(entry) ? (stringAt(entry, LISTS[list].key) ?? stringAt(entry, "name")) : undefined;
  if (name !== undefined) return { list, name: name.slice(0, MAX_NAME_LENGTH), ...flaw };
  const inside = flaw.member === "" ? "" : `.${flaw.member}`;
  return { list, ...flaw, member: `${list}[${place}]${inside}` };
}

const MAX_NAME_LENGTH = 200;

const flawOf = (what: string, value: unknown, member: string): Flaw => ({
  member,
  reason: `must be ${what}, not ${kindOf(value)}`,
});

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "absent";
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "an object";
  if (numberOf(value) !== undefined) return "a number";
  return typeof value === "string" ? "a text of another form" : `a ${typeof value}`;
}

const text: Rule = (value, at) => (typeof value === "string" ? undefined : flawOf("a string", value, at));
const flag: Rule = (value, at) =>
  typeof value === "boolean" ? undefined : flawOf("true or false", value, at);
const number: Rule = (value, at) =>
  Number.isFinite(numberOf(value)) ? undefined : flawOf("a number within the range of doubles", value, at);
const object: Rule = (value, at) => (isObject(value) ? undefined : flawOf("an object", value, at));
/** A subschema. Lists pass too: hosts do not check for them. */
const schema: Rule = (value, at) =>
  isObject(value) || Array.isArray(value) || typeof value === "boolean"
    ? undefined
    : flawOf("a schema", value, at);

const unitInterval: Rule = (value, at) => {
  const given = numberOf(value);
  return given !== undefined && given >= 0 && given <= 1
    ? undefined
    : flawOf("a number from 0 to 1", value, at);
};

const oneOf =
  (...words: readonly string[]): Rule =>
  (value, at) =>
    typeof value === "string" && words.includes(value)
      ? undefined
      : flawOf(`one of ${words.join(", ")}`, value, at);

const listOf =
  (rule: Rule): Rule =>
  (value, at) =>
    Array.isArray(value)
      ? first(value.entries(), ([index, one]) => rule(one, `${at}[${index}]`))
      : flawOf("a list", value, at);

const mapOf =
  (rule: Rule): Rule =>
  (value, at) =>
    isObject(value)
      ? first(Object.entries(value), ([key, one]) => rule(one, `${at}.${key}`))
      : flawOf("an object", value, at);

/** An object with these members; those of `required` must be there. */
function shape(
  required: Readonly<Record<string, Rule>>,
  optional: Readonly<Record<string, Rule>> = {},
): Rule {
  const rules = Object.entries({ ...required, ...optional });
  return (value, at) => {
    if (!isObject(value)) return flawOf("an object", value, at);
    return first(rules, ([key, rule]) => {
      const path = at === "" ? key : `${at}.${key}`;
      if (Object.hasOwn(value, key)) return rule(value[key], path);
      return Object.hasOwn(required, key) ? rule(undefined, path) : undefined;
    });
  };
}

function first<T>(all: Iterable<T>, rule: (one: T) => Flaw | undefined): Flaw | undefined {
  for (const one of all) {
    const flaw = rule(one);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

const TIME =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** RFC 3339, with seconds and an offset. */
const time: Rule = (value, at) => {
  const parts = typeof value === "string" ? TIME.exec(value) : null;
  const [year = 0, month = 0, day = 0] = parts?.slice(1).map(Number) ?? [];
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0);
  return day >= 1 && day <= days ? undefined : flawOf("a date and time with an offset (RFC 3339)", value, at);
};

const ICONS = listOf(
  shape({ src: text }, { mimeType: text, sizes: listOf(text), theme: oneOf("light", "dark") }),
);

const ANNOTATIONS = shape(
  {},
  { audience: listOf(oneOf("user", "assistant")), priority: unitInterval, lastModified: time },
);

const DESCRIBED = { title: text, description: text, icons: ICONS, _meta: object };

/** The part that input and output schemas share; `$schema` names the dialect. */
const OBJECT_SCHEMA = shape(
  { type: oneOf("object") },
  { $schema: text, properties: mapOf(schema), required: listOf(text) },
);

const ANY_SCHEMA = shape({}, { $schema: text });

/** A valid input schema: hosts send it to model APIs, which refuse all tools for one that is not. */
const INPUT_SCHEMA: Rule = (value, at) =>
  OBJECT_SCHEMA(value, at) ?? (isObject(value) ? schemaFlaw(value, at) : undefined);

/** Since 2026-07-28 the root may be other than an object; for older hosts the result is wrapped (SEP-2106). */
const OUTPUT_SCHEMA: Rule = (value, at) => {
  const flaw = isObject(value) && value.type === "object" ? OBJECT_SCHEMA(value, at) : ANY_SCHEMA(value, at);
  return flaw ?? (isObject(value) ? outputSchemaFlaw(value, at) : undefined);
};

const TOOL = shape(
  { name: text, inputSchema: INPUT_SCHEMA },
  {
    ...DESCRIBED,
    outputSchema: OUTPUT_SCHEMA,
    annotations: shape(
      {},
      {
        title: text,
        readOnlyHint: flag,
        destructiveHint: flag,
        idempotentHint: flag,
        openWorldHint: flag,
      },
    ),
    execution: shape({}, { taskSupport: oneOf("required", "optional", "forbidden") }),
  },
);

const RESOURCE = { ...DESCRIBED, mimeType: text, annotations: ANNOTATIONS };

const ENTRIES: Readonly<Record<ListKind, Rule>> = {
  tools: TOOL,
  prompts: shape(
    { name: text },
    { ...DESCRIBED, arguments: listOf(shape({ name: text }, { description: text, required: flag })) },
  ),
  resources: shape({ name: text, uri: text }, { ...RESOURCE, size: number }),
  resourceTemplates: shape({ name: text, uriTemplate: text }, RESOURCE),
};

const TASK = shape(
  {
    taskId: text,
    status: oneOf("working", "input_required", "completed", "failed", "cancelled"),
    ttl: (value, at) => (value === null ? undefined : number(value, at)),
    createdAt: text,
    lastUpdatedAt: text,
  },
  { pollInterval: number, statusMessage: text },
);

const IMPLEMENTATION = shape(
  { name: text, version: text },
  { title: text, description: text, websiteUrl: text, icons: ICONS },
);
