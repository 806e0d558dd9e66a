/** How large is a result for a model? */
import { type JsonObject, stringAt } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { CHARACTERS_PER_TOKEN } from "../budgets.js";

/** The size of a block in characters of JSON; of an image or audio without its data, which models do not read as text. */
export function sizeOfBlock(block: JsonObject): number {
  const isMedia = block.type === "image" || block.type === "audio";
  const size = writeJson(isMedia ? { ...block, data: "" } : block).length;
  return size;
}

/** The size of a result in characters: of its texts, and of everything else as JSON. */
export function sizeOfResult(result: JsonObject): number {
  const { content, structuredContent } = result;
  let size = structuredContent === undefined ? 0 : writeJson(structuredContent).length;
  if (!Array.isArray(content)) return size;
  for (const block of content as readonly JsonObject[]) {
    const text = block?.type === "text" ? stringAt(block, "text") : undefined;
    // Some servers send an object as the text: it counts as JSON.
    size += text?.length ?? sizeOfBlock(block ?? {});
  }
  return size;
}

/** Rounded up. */
export const tokensOf = (characters: number): number => Math.ceil(characters / CHARACTERS_PER_TOKEN);
