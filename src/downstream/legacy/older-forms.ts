/** What do older hosts get in place of content blocks and schemas that their revision does not know? */
import { isObject, type JsonObject, objectAt, stringAt } from "../../wire/json.js";
import { mapSubschemas } from "../../wire/subschemas.js";
import type { Revision } from "./revision.js";

/**
 * One block or a list of them, with the unknown kinds as text. What is no block is left alone, and the very same
 * value comes back where nothing had to change.
 */
export function downgradeBlocks(content: unknown, revision: Revision): unknown {
  if (!Array.isArray(content)) return downgradeBlock(content, revision);
  const blocks = content.map((block: unknown) => downgradeBlock(block, revision));
  return blocks.some((block, at) => block !== content[at]) ? blocks : content;
}

function downgradeBlock(block: unknown, revision: Revision): unknown {
  if (!isObject(block)) return block;
  if (block.type === "resource_link" && !revision.resourceLinks) return textBlock(block, linkText(block));
  if (block.type === "audio" && !revision.audio) return textBlock(block, audioText(block));
  return block;
}

/** Annotations and `_meta` say as much about the text as they did about the block. */
function textBlock(block: JsonObject, text: string): JsonObject {
  const { annotations, _meta } = block;
  return {
    type: "text",
    text,
    ...(annotations !== undefined && { annotations }),
    ...(_meta !== undefined && { _meta }),
  };
}

function linkText(link: JsonObject): string {
  const name = stringAt(link, "title") ?? stringAt(link, "name");
  const description = stringAt(link, "description");
  const uri = stringAt(link, "uri") ?? "";
  const line = name === undefined ? `Resource: ${uri}` : `Resource ${name}: ${uri}`;
  return description === undefined ? line : `${line}\n${description}`;
}

function audioText(audio: JsonObject): string {
  const kind = stringAt(audio, "mimeType") ?? "audio";
  const bytes = Math.floor(((stringAt(audio, "data")?.length ?? 0) * 3) / 4);
  return `[Audio (${kind}, about ${bytes} bytes) was left out: this client's protocol revision has no audio.]`;
}

/** What `true` and `false` mean as schemas (2020-12, 4.3.2). */
const ANYTHING: JsonObject = {};
const NOTHING: JsonObject = { not: {} };

/**
 * The tool with objects in place of the boolean schemas in `properties`, which older hosts read as objects only; the same
 * object where there are none.
 */
export function withObjectSchemas(tool: JsonObject): JsonObject {
  return ["inputSchema", "outputSchema"].reduce(objectSchemas, tool);
}

function objectSchemas(tool: JsonObject, key: string): JsonObject {
  const schema = objectAt(tool, key);
  const properties = objectAt(schema, "properties");
  if (properties === undefined || !Object.values(properties).some(isBoolean)) return tool;
  const objects = Object.entries(properties).map(([name, one]) => [
    name,
    isBoolean(one) ? asObject(one) : one,
  ]);
  return { ...tool, [key]: { ...schema, properties: Object.fromEntries(objects) } };
}

const isBoolean = (value: unknown): value is boolean => typeof value === "boolean";
const asObject = (schema: boolean): JsonObject => (schema ? ANYTHING : NOTHING);

/** Whether every value of this schema is an object, as older hosts require of an output schema. */
export const hasObjectRoot = (schema: JsonObject): boolean => schema.type === "object";

/** The schema of `{ result: … }`, where `schema` describes `result` (SEP-2106). */
export function wrapOutputSchema(schema: JsonObject): JsonObject {
  const dialect = stringAt(schema, "$schema");
  return {
    // The root of a document names its dialect.
    ...(dialect !== undefined && { $schema: dialect }),
    type: "object",
    properties: { result: isBase(schema) ? schema : moved(schema) },
    required: ["result"],
  };
}

const MOVED_ROOT = "#/properties/result";

/**
 * References from the root of the document need a longer path now. Anchors move with the schema, and a schema with an `$id`
 * is the root of its own references.
 */
function moved(schema: JsonObject): JsonObject {
  const mapped = mapSubschemas(schema, movedIn);
  const refs = ["$ref", "$dynamicRef"].flatMap((keyword) => {
    const ref = stringAt(mapped, keyword);
    return ref === undefined ? [] : [[keyword, movedRef(ref)] as const];
  });
  return refs.length === 0 ? mapped : { ...mapped, ...Object.fromEntries(refs) };
}

function movedIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(movedIn);
  return isObject(value) && !isBase(value) ? moved(value) : value;
}

function movedRef(ref: string): string {
  if (ref === "#") return MOVED_ROOT;
  return ref.startsWith("#/") ? MOVED_ROOT + ref.slice(1) : ref;
}

/** An `$id` that is only a fragment is an anchor in older dialects, and no base. */
const isBase = (schema: JsonObject): boolean => {
  const id = stringAt(schema, "$id");
  return id !== undefined && !id.startsWith("#");
};
