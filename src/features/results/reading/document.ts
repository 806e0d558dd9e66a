/** What of a kept result is read: its text by lines, its JSON by items, or the part that a pointer leads to? */
import { isObject, type JsonObject, objectAt, stringAt } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { type Container, containerIn, followPointer, isContainer } from "./json-document.js";

/** What is read, and the pointer that leads to it. */
export type Document =
  | { readonly unit: "lines"; readonly text: string }
  | { readonly unit: "items"; readonly value: Container; readonly pointer: string };

/** The texts of the blocks of a result, those of embedded resources too. */
const textsOf = (content: unknown): readonly string[] =>
  !Array.isArray(content)
    ? []
    : content.flatMap((block) => {
        if (!isObject(block)) return [];
        if (block.type === "text") return stringAt(block, "text") ?? [];
        return block.type === "resource" ? (stringAt(objectAt(block, "resource"), "text") ?? []) : [];
      });

/** The whole of a result: the JSON that its only text is, else its texts, else its structure. */
function documentOf(result: JsonObject): Document {
  const texts = textsOf(result.content);
  const [only = "", second] = texts;
  const value = second === undefined ? containerIn(only) : undefined;
  if (value !== undefined) return { unit: "items", value, pointer: "" };
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
