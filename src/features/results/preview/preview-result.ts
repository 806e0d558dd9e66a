/** What do hosts get of a result that is over its budget? A preview that fits, and where the whole is. */
import { isObject, type JsonObject, stringAt, without } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { textOfBlock } from "../reading/document.js";
import { clipped } from "../reading/escaped.js";
import { containerIn, isContainer } from "../reading/json-document.js";
import { notesOf, structureNotes, textBlock, type WholeResult } from "./notes.js";
import { LEAST_BLOCK, type PlacedBlock, shrunkBlocks } from "./preview-blocks.js";
import { previewJson } from "./preview-json.js";
import { type MeasuredResult, sizeOfBlock } from "./sizes.js";

/** What `content` itself takes (characters). */
const FRAME = 40;

/** @param most the budget, in characters of JSON without images and audio */
export function previewResult(
  { result, structure }: MeasuredResult,
  most: number,
  whole: WholeResult,
): JsonObject {
  const blocks = Array.isArray(result.content) ? result.content.filter(isObject) : [];
  const notes = notesOf(whole, most);
  const left = most - FRAME - writeJson(notes).length;
  if (structure !== "" && sizeOfBlocks(blocks) <= left && repeats(result, structure, blocks))
    return {
      ...without(result, ["structuredContent"]),
      content: [...blocks, ...structureNotes(whole, most)],
    };
  // A structure is whole or left out: hosts check it against a schema.
  const keepsStructure = structure !== "" && structure.length + LEAST_BLOCK <= left;
  const room = left - (keepsStructure ? structure.length + 24 : 0);
  const isStructureOnly = blocks.length === 0 && structure !== "" && !keepsStructure;
  const shown = isStructureOnly
    ? [structureBlock(result.structuredContent, structure, room)]
    : shrunkBlocks(placedBlocks(blocks), room, most);
  return {
    ...(keepsStructure ? result : without(result, ["structuredContent"])),
    content: [...shown, ...notes],
  };
}

/** The shape of a structure, which no text repeats. */
function structureBlock(structure: unknown, json: string, room: number): JsonObject {
  const most = room - sizeOfBlock(textBlock("")) - 1;
  return textBlock(isContainer(structure) ? previewJson(structure, most) : clipped(json, most));
}

/** With the paths that read their texts. */
function placedBlocks(blocks: readonly JsonObject[]): readonly PlacedBlock[] {
  const isOnly = blocks.filter((block) => textOfBlock(block) !== undefined).length < 2;
  return blocks.map((block, at) => ({
    block,
    path: isOnly ? "" : `/content/${at}/${block.type === "text" ? "text" : "resource/text"}`,
  }));
}

const sizeOfBlocks = (blocks: readonly JsonObject[]): number =>
  blocks.reduce((size, block) => size + sizeOfBlock(block) + 1, 0);

/** Whether the blocks have all that the structure has: as its JSON, as its only text, or as its `content`. */
function repeats(
  { structuredContent }: JsonObject,
  structure: string,
  blocks: readonly JsonObject[],
): boolean {
  if (!isObject(structuredContent)) return false;
  const [only, second] = blocks;
  const text = only?.type === "text" && second === undefined ? stringAt(only, "text") : undefined;
  const [value, other] = Object.values(structuredContent);
  const isSingle = value !== undefined && other === undefined;
  if (text === undefined) return isSingle && writeJson(value) === writeJson(blocks);
  if (isSingle && value === text) return true;
  const json = containerIn(text);
  return json !== undefined && writeJson(json) === structure;
}
