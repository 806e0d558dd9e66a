/** Turns a JSON schema into form fields, and the filled form into a value. */
import type { Json } from "./json.js";

/** One field of a form. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly isRequired: boolean;
  /** `lines`: a list of strings, one per line. `json`: whatever no simpler field can hold. */
  readonly kind: "text" | "number" | "choice" | "choices" | "lines" | "group" | "json";
  /** For `choice` and `choices`. */
  readonly options: readonly { readonly value: unknown; readonly label: string }[];
  /** For `group`. */
  readonly fields: readonly Field[];
  readonly schema: Json;
  readonly initial: Draft[string];
}

/** The input, keyed by field name; choices are indices of options. */
export interface Draft {
  readonly [name: string]: string | readonly string[] | Draft;
}

/** The input as a value, with errors keyed by field path. */
export interface Filled {
  readonly value: Json;
  readonly faults: Readonly<Record<string, string>>;
}

/** Deeper groups are edited as JSON. */
const MAX_DEPTH = 3;

/** The fields of an object schema; empty for anything else. */
export function fieldsOf(schema: unknown, depth = 0): readonly Field[] {
  const { properties, required } = objectOf(schema);
  const names = Array.isArray(required) ? required : [];
  return Object.entries(objectOf(properties))
    .map(([name, inner]) => fieldOf(name, objectOf(inner), names.includes(name), depth))
    .sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
}

function fieldOf(name: string, schema: Json, isRequired: boolean, depth: number): Field {
  const { title, description } = schema;
  const options = optionsOf(schema);
  const item = objectOf(schema.items);
  const several = optionsOf(item);
  const fields = schema.type === "object" && depth < MAX_DEPTH ? fieldsOf(schema, depth + 1) : [];
  const kind = kindOf(schema, options.length > 0, several.length > 0, fields.length > 0);
  const field: Field = {
    name,
    label: typeof title === "string" ? title : name,
    description: typeof description === "string" ? description : "",
    isRequired,
    kind,
    options: kind === "choices" ? several : options,
    fields,
    schema,
    initial: "",
  };
  return { ...field, initial: initialOf(field, schema.default) };
}

function kindOf(schema: Json, isChoice: boolean, isChoices: boolean, isGroup: boolean): Field["kind"] {
  if (isChoice) return "choice";
  if (schema.type === "string") return "text";
  if (schema.type === "number" || schema.type === "integer") return "number";
  if (schema.type === "array" && isChoices) return "choices";
  if (schema.type === "array" && objectOf(schema.items).type === "string") return "lines";
  return isGroup ? "group" : "json";
}

function optionsOf(schema: Json): Field["options"] {
  if (schema.type === "boolean")
    return [true, false].map((value) => ({ value, label: value ? "yes" : "no" }));
  const titled = [schema.oneOf, schema.anyOf].find(
    (list): list is Json[] => Array.isArray(list) && list.every((one) => "const" in objectOf(one)),
  );
  if (titled !== undefined) {
    return titled.map(({ const: value, title }) => ({
      value,
      label: typeof title === "string" ? title : String(value),
    }));
  }
  const { enum: values, enumNames } = schema;
  if (!Array.isArray(values))
    return "const" in schema ? [{ value: schema.const, label: String(schema.const) }] : [];
  const labels = Array.isArray(enumNames) ? enumNames : [];
  return values.map((value, at) => ({ value, label: String(labels[at] ?? value) }));
}

function initialOf({ kind, options, fields }: Field, value: unknown): Draft[string] {
  if (kind === "group") {
    const inner = objectOf(value);
    return Object.fromEntries(
      fields.map((field) => [
        field.name,
        field.name in inner ? initialOf(field, inner[field.name]) : field.initial,
      ]),
    );
  }
  const index = (one: unknown): string => String(options.findIndex((option) => option.value === one));
  if (kind === "choices") return Array.isArray(value) ? value.map(index).filter((at) => at !== "-1") : [];
  if (value === undefined) return "";
  if (kind === "choice") return index(value) === "-1" ? "" : index(value);
  if (kind === "lines") return Array.isArray(value) ? value.join("\n") : "";
  return typeof value === "string" && kind === "text" ? value : JSON.stringify(value);
}

/** The initial form: defaults of the schema. */
export const emptyDraft = (fields: readonly Field[]): Draft =>
  Object.fromEntries(fields.map(({ name, initial }) => [name, initial]));

/** Reads the input. Empty optional fields are omitted. */
export function fill(fields: readonly Field[], draft: Draft, path = ""): Filled {
  const value: Record<string, unknown> = Object.create(null);
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const typed = draft[field.name] ?? "";
    const at = path === "" ? field.name : `${path}.${field.name}`;
    if (field.kind === "group") {
      const inner = fill(field.fields, typed as Draft, at);
      Object.assign(faults, field.isRequired || Object.keys(inner.value).length > 0 ? inner.faults : {});
      if (field.isRequired || Object.keys(inner.value).length > 0) value[field.name] = inner.value;
      continue;
    }
    const isEmpty = typed === "" || (Array.isArray(typed) && typed.length === 0);
    if (isEmpty && !field.isRequired) continue;
    // A required text may be empty, unless the schema has a minimum length.
    if (
      isEmpty &&
      !(field.kind === "text" && field.schema.minLength === undefined) &&
      field.kind !== "choices"
    ) {
      faults[at] = "is required";
      continue;
    }
    const read = readOne(field, typed as string | readonly string[]);
    if ("fault" in read) faults[at] = read.fault;
    else value[field.name] = read.value;
  }
  return { value, faults };
}

function readOne(field: Field, typed: string | readonly string[]): { value: unknown } | { fault: string } {
  const option = (index: string): unknown => field.options[Number(index)]?.value;
  if (Array.isArray(typed)) return { value: typed.map(option) };
  const text = typed as string;
  switch (field.kind) {
    case "choice":
      return { value: option(text) };
    case "lines":
      return { value: text.split("\n").filter((line) => line !== "") };
    case "number": {
      const number = Number(text);
      if (text.trim() === "" || !Number.isFinite(number)) return { fault: "must be a number" };
      if (field.schema.type === "integer" && !Number.isInteger(number))
        return { fault: "must be a whole number" };
      return { value: number };
    }
    case "json":
      try {
        return { value: JSON.parse(text) };
      } catch {
        return { fault: "must be JSON" };
      }
    case "text":
    case "choices":
    case "group":
      return { value: text };
  }
}

const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
