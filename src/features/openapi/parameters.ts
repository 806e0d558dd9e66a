/** Which arguments does an operation take, and where does each of them go? */
import { isObject, type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import type { NamedParameter } from "./listed-names.js";
import type { Parameter, ParameterPlace, Style } from "./operation.js";
import type { References } from "./references.js";
import { isJsonType } from "./responses.js";
import type { ShapeReader } from "./shapes.js";
import { isExploded } from "./styles.js";
import type { SchemaConverter } from "./tool-schema.js";

/** The parameters of one operation, before they are read. */
export interface ParameterSource {
  /** Of the path item and of the operation, which may replace them. */
  readonly lists: readonly unknown[];
  readonly path: string;
  readonly references: References;
  readonly shapes: ShapeReader;
  readonly converter: SchemaConverter;
  readonly configured: { readonly headers: ReadonlySet<string>; readonly query: ReadonlySet<string> };
}

/** One parameter before its argument has a name. */
export interface DescribedParameter extends NamedParameter {
  readonly object: JsonObject;
  /** Of the argument, with the names of the API. */
  readonly schema: unknown;
}

const PLACES = ["path", "query", "header", "cookie"] as const;

/** Headers that a document cannot describe (3.1.1, "Parameter Object"), and those that frame the message. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  ...["accept", "content-type", "authorization", "host", "cookie", "content-length", "transfer-encoding"],
  ...[
    "connection",
    "expect",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "accept-encoding",
    "proxy-connection",
  ],
  ...["proxy-authorization"],
]);

const STYLES: Readonly<Record<ParameterPlace, readonly Style[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
  cookie: ["form"],
};

/** One text for all names of headers that CGI, WSGI and PHP read as one: they write `-` as `_`. */
const foldedHeader = (name: string): string => name.toLowerCase().replaceAll("_", "-");

/** Reads the parameters; a path parameter that the document forgot to describe is a required string. */
export function readParameters(source: ParameterSource): readonly DescribedParameter[] {
  const described = [...describedParameters(source).values()];
  const inPath = new Set([...source.path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name as string));
  const configuredHeaders = new Set([...source.configured.headers].map(foldedHeader));
  const isUsable = ({ place, name }: Described): boolean => {
    if (place === "path") return inPath.has(name);
    if (place === "query") return !source.configured.query.has(name.toLowerCase());
    const folded = foldedHeader(name);
    if (place === "header")
      return (
        !RESERVED_HEADERS.has(folded) && !configuredHeaders.has(folded) && /^[\w!#$%&'*+.^`|~-]+$/.test(name)
      );
    return !source.configured.headers.has("cookie") && /^[\w!#$%&'*+.^`|~-]+$/.test(name);
  };
  const usable = described.filter(isUsable);
  for (const name of inPath) {
    if (usable.some((one) => one.place === "path" && one.name === name)) continue;
    usable.push({ place: "path", name, object: { schema: { type: "string" } } });
  }
  return PLACES.flatMap((place) =>
    usable
      .filter((each) => each.place === place)
      .map((one) => ({ ...one, schema: argumentSchema(one.object, source.converter) })),
  );
}

type Described = Omit<DescribedParameter, "schema">;

function describedParameters({ lists, references }: ParameterSource): ReadonlyMap<string, Described> {
  const found = new Map<string, Described>();
  for (const list of lists) {
    for (const each of Array.isArray(list) ? list : []) {
      const object = references.resolved(each);
      const name = stringAt(object, "name");
      const place = PLACES.find((one) => one === object?.in);
      if (object === undefined || name === undefined || name === "" || place === undefined) continue;
      // Names of headers are the same in any case.
      found.set(`${place} ${place === "header" ? name.toLowerCase() : name}`, { place, name, object });
    }
  }
  return found;
}

/** The parameter with the argument that it is taken from. */
export function parameterOf(
  { place, name, object }: DescribedParameter,
  argument: string,
  { references, shapes }: Pick<ParameterSource, "references" | "shapes">,
): Parameter {
  const [usual = "simple"] = STYLES[place];
  const style = STYLES[place].find((one) => one === object.style) ?? usual;
  const explode = typeof object.explode === "boolean" ? object.explode : style === "form";
  const admission = objectAdmission(object.schema, references);
  return {
    argument,
    name,
    in: place,
    style,
    explode,
    allowReserved: object.allowReserved === true,
    ...contentOf(object),
    takesObject: admission === "yes" || (admission === "open" && !isExploded({ style, explode })),
    required: place === "path" || object.required === true,
    shape: shapes.read(schemaOf(object)),
  };
}

function contentOf(parameter: JsonObject): Pick<Parameter, "content"> {
  const content = objectAt(parameter, "content");
  if (content === undefined) return {};
  const [mediaType = "*/*"] = Object.keys(content);
  return { content: isJsonType(mediaType) || mediaType.endsWith("/*") ? "json" : "text" };
}

function schemaOf(parameter: JsonObject): unknown {
  const [content] = Object.values(objectAt(parameter, "content") ?? {});
  return isObject(content) ? content.schema : parameter.schema;
}

function argumentSchema(parameter: JsonObject, converter: SchemaConverter): unknown {
  const converted = converter.convert(schemaOf(parameter) ?? {});
  if (!isObject(converted)) return converted;
  const description = stringAt(parameter, "description")?.trim();
  return {
    ...converted,
    ...(description !== undefined && description !== "" && { description }),
    ...(parameter.deprecated === true && { deprecated: true }),
  };
}

/** Keywords that say something of objects only. */
const OF_OBJECTS = ["properties", "patternProperties", "additionalProperties", "propertyNames"];

/** `open` is a schema that says nothing of the type of its values. */
type ObjectAdmission = "yes" | "no" | "open";

/** Whether values of a schema may be objects. Each schema is looked at once, however many refer to it. */
function objectAdmission(
  schema: unknown,
  references: References,
  known = new Map<unknown, ObjectAdmission>(),
): ObjectAdmission {
  if (schema === false) return "no";
  const found = references.resolved(schema);
  if (found === undefined) return "open";
  const before = known.get(found);
  if (before !== undefined) return before;
  // For references in a circle.
  known.set(found, "open");
  const admission = admissionOf(found, (one) => objectAdmission(one, references, known));
  known.set(found, admission);
  return admission;
}

function admissionOf(found: JsonObject, inner: (schema: unknown) => ObjectAdmission): ObjectAdmission {
  const { type, enum: values, allOf } = found;
  if (typeof type === "string" && type !== "object") return "no";
  if (Array.isArray(type) && !type.includes("object")) return "no";
  if (Array.isArray(values) && !values.some(isObject)) return "no";
  if (Object.hasOwn(found, "const") && !isObject(found.const)) return "no";
  const each = (list: unknown): readonly ObjectAdmission[] => (Array.isArray(list) ? list.map(inner) : []);
  const choices = [each(found.anyOf), each(found.oneOf)].filter((list) => list.length > 0).map(choiceOf);
  const parts = [...each(allOf), ...choices];
  if (parts.includes("no")) return "no";
  const isStated = type !== undefined || OF_OBJECTS.some((key) => Object.hasOwn(found, key));
  return isStated || parts.includes("yes") ? "yes" : "open";
}

function choiceOf(choices: readonly ObjectAdmission[]): ObjectAdmission {
  if (choices.includes("yes")) return "yes";
  return choices.includes("open") ? "open" : "no";
}
