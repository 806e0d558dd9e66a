/** What of a kept result is read: its text by lines, its JSON by items, or the part that a pointer leads to? */
import { isObject, type JsonObject, objectAt, stringAt } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { isHtml, textOfHtml } from "./html-text.js";
import { type Container, containerIn, followPointer, isContainer } from "./json-document.js";

/** What is read, and the pointer that leads to it. */
export type Document =
  | { readonly unit: "lines"; readonly text: string }
  | { readonly unit: "items"; readonly value: Container; readonly pointer: string };

/** The text of a block, or of the resource in it; undefined if it has none. Some servers send an object: it is read as its JSON. */
export function textOfBlock(block: JsonObject): string | undefined {
  if (block.type === "resource") return stringAt(objectAt(block, "resource"), "text");
  if (block.type !== "text") return undefined;
  const { text } = block;
  return isContainer(text) ? writeJson(text) : stringAt(block, "text");
}

/** The texts of the blocks of a result. */
const textsOf = (content: unknown): readonly string[] =>
  Array.isArray(content)
    ? content.flatMap((block) => (isObject(block) ? (textOfBlock(block) ?? []) : []))
    : [];

/** The whole of a result: what its only text is (JSON, the text of a page), else its texts, else its structure. */
function documentOf(result: JsonObject): Document {
  const texts = textsOf(result.content);
  const [only = "", second] = texts;
  const value = second === undefined ? containerIn(only) : undefined;
  if (value !== undefined) return { unit: "items", value, pointer: "" };
  if (second === undefined && isHtml(only)) return { unit: "lines", text: textOfHtml(only) };
  const text = texts.join("\n");
  if (text !== "") return { unit: "lines", text };
  const { structuredContent: structure } = result;
  return isContainer(structure)
    ? { unit: "items", value: structure, pointer: "/structuredContent" }
    : { unit: "items", value: result, pointer: "" };
}

/**
 * The part of a result at `path`: of the JSON that it is, or of the result itself. Undefined where there is none.
 *
 * @throws SyntaxError for a path that is no JSON pointer
 */
export function partOf(result: JsonObject, path: string): Document | undefined {
  if (path === "") return documentOf(result);
  const whole = documentOf(result);
  const inJson =
    whole.unit === "items" && whole.pointer === "" ? followPointer(whole.value, path) : undefined;
  const found = inJson ?? followPointer(result, path);
  if (found === undefined) return undefined;
  const { value } = found;
  if (isContainer(value)) return { unit: "items", value, pointer: path };
  return { unit: "lines", text: typeof value === "string" ? value : writeJson(value) };
}
