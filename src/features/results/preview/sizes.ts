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

/** A result, and what it takes. */
export interface MeasuredResult {
  readonly result: JsonObject;
  /** In characters: of its texts, and of everything else as JSON. */
  readonly size: number;
  /** The JSON of its structure, which is written once; empty if it has none. */
  readonly structure: string;
}

/** Measures a result. */
export function measuredResult(result: JsonObject): MeasuredResult {
  const { content, structuredContent } = result;
  const structure = structuredContent === undefined ? "" : writeJson(structuredContent);
  let size = structure.length;
  for (const block of Array.isArray(content) ? (content as readonly JsonObject[]) : []) {
    const text = block?.type === "text" ? stringAt(block, "text") : undefined;
    // Some servers send an object as the text: it counts as JSON.
    size += text?.length ?? sizeOfBlock(block ?? {});
  }
  return { result, size, structure };
}

/** Rounded up. */
export const tokensOf = (characters: number): number => Math.ceil(characters / CHARACTERS_PER_TOKEN);
