/** Which media type does the body of an operation have, and which schema the argument `body`? */
import { isObject, type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import type { FormField, RequestBody, Style } from "./operation.js";
import type { References } from "./references.js";
import { isFile } from "./schema-keywords.js";
import { ANY_SHAPE, type ShapeReader } from "./shapes.js";
import type { SchemaConverter } from "./tool-schema.js";

/** Best first. */
const KINDS: readonly (readonly [RequestBody["kind"], RegExp])[] = [
  ["json", /^application\/json\b/i],
  ["json", /^[^;]+\+json\b/i],
  ["json", /^(\*|application)\/\*$/],
  ["form", /^application\/x-www-form-urlencoded\b/i],
  ["multipart", /^multipart\/form-data\b/i],
  ["text", /^text\//i],
  ["text", /^application\/(xml|yaml|x-yaml|graphql|javascript|x-ndjson)\b|\+(xml|yaml)\b/i],
  ["binary", /./],
];

/** The body of an operation and the schema of its argument; undefined where the document describes no content. */
export function readRequestBody(
  described: unknown,
  { references, shapes }: { readonly references: References; readonly shapes: ShapeReader },
  converter: SchemaConverter,
): { readonly request: RequestBody; readonly schema: unknown } | undefined {
  const body = references.resolved(described);
  const content = objectAt(body, "content") ?? {};
  const found = KINDS.flatMap(([kind, pattern]) => {
    const mediaType = Object.keys(content).find((one) => pattern.test(one));
    return mediaType === undefined ? [] : [{ kind, mediaType }];
  })[0];
  if (found === undefined) return undefined;
  const { kind, mediaType } = found;
  const media = objectAt(content, mediaType) ?? {};
  const request = {
    kind,
    mediaType: mediaType.includes("*") ? "application/json" : mediaType,
    required: body?.required === true,
    fields: kind === "form" || kind === "multipart" ? formFields(media, references) : {},
    names: kind === "form" || kind === "multipart" ? fieldNames(media, references) : [],
    shape: kind === "text" || kind === "binary" ? ANY_SHAPE : shapes.read(media.schema),
  };
  const description = stringAt(body, "description")?.trim();
  const schema = argumentSchema(kind, mediaType, media, converter);
  return {
    request,
    schema:
      description === undefined || description === "" || !isObject(schema) || schema.description !== undefined
        ? schema
        : { ...schema, description },
  };
}

function argumentSchema(
  kind: RequestBody["kind"],
  mediaType: string,
  { schema }: JsonObject,
  converter: SchemaConverter,
): unknown {
  if (kind === "binary")
    return {
      type: "string",
      contentEncoding: "base64",
      contentMediaType: mediaType,
      description: `The bytes (${mediaType}) in base64.`,
    };
  if (kind === "text") return { type: "string", contentMediaType: mediaType };
  return converter.convert(schema ?? {});
}

const STYLES: readonly Style[] = ["form", "spaceDelimited", "pipeDelimited", "deepObject"];

function fieldNames({ schema, encoding }: JsonObject, references: References): readonly string[] {
  const encoded = isObject(encoding) ? Object.keys(encoding) : [];
  return [...new Set([...Object.keys(propertiesOf(schema, references)), ...encoded])];
}

function formFields({ schema, encoding }: JsonObject, references: References): Record<string, FormField> {
  const properties = propertiesOf(schema, references);
  const encodings = isObject(encoding) ? encoding : {};
  const fields: [string, FormField][] = [];
  for (const name of fieldNames({ schema, encoding }, references)) {
    const given = objectAt(encodings, name) ?? {};
    const isBinary = isBinarySchema(properties[name], references);
    const contentType = stringAt(given, "contentType")?.split(",")[0]?.trim();
    const style = STYLES.find((one) => one === given.style);
    const explode = typeof given.explode === "boolean" ? given.explode : undefined;
    if (!isBinary && contentType === undefined && style === undefined && explode === undefined) continue;
    fields.push([
      name,
      {
        isBinary,
        ...(contentType !== undefined && !contentType.includes("*") && { contentType }),
        ...(style !== undefined && { style }),
        ...(explode !== undefined && { explode }),
      },
    ]);
  }
  return Object.fromEntries(fields.filter(([name]) => name !== "__proto__"));
}

/** The properties of an object schema, those of its `allOf` parts too. */
function propertiesOf(schema: unknown, references: References, depth = 0): JsonObject {
  const found = references.resolved(schema);
  if (found === undefined || depth > 5) return {};
  const parts = Array.isArray(found.allOf) ? found.allOf : [];
  return Object.assign(
    Object.create(null),
    ...parts.map((part) => propertiesOf(part, references, depth + 1)),
    objectAt(found, "properties"),
  ) as JsonObject;
}

/** `format: binary` of 3.0, and `contentEncoding` or `contentMediaType` of 3.1; in a list too. */
function isBinarySchema(schema: unknown, references: References): boolean {
  const found = references.resolved(schema);
  if (found === undefined) return false;
  if (found.type === "array") return isBinarySchema(found.items, references);
  if (isFile(found)) return true;
  if (found.format === "binary" || found.contentEncoding === "base64") return true;
  const media = stringAt(found, "contentMediaType");
  return media !== undefined && !/^text\/|json/i.test(media);
}
