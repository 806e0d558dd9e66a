/** What is shown of blocks that are too large together? */
import { type JsonObject, objectAt, stringAt } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { textOfBlock } from "../reading/document.js";
import { clipped } from "../reading/escaped.js";
import { lineWidth } from "../reading/page.js";
import { textBlock } from "./notes.js";
import { previewText } from "./preview-text.js";
import { sizeOfBlock } from "./sizes.js";

/** A block, and the JSON pointer to its text; empty where its result has no other text. */
export interface PlacedBlock {
  readonly block: JsonObject;
  readonly path: string;
}

/** What a block takes at least (characters). */
export const LEAST_BLOCK = 80;

/** Small blocks are unchanged; large ones share what is left. */
export function shrunkBlocks(
  blocks: readonly PlacedBlock[],
  room: number,
  most: number,
): readonly JsonObject[] {
  const count = Math.max(1, Math.min(blocks.length, Math.floor(room / LEAST_BLOCK)));
  const leftOut = blocks.length - count;
  const note: readonly JsonObject[] =
    leftOut > 0 ? [{ type: "text", text: `[… ${leftOut} more blocks …]` }] : [];
  const kept = blocks
    .slice(0, count)
    .map((placed, at) => ({ placed, at, size: sizeOfBlock(placed.block) + 1 }));
  let left = room - (note.length > 0 ? writeJson(note).length : 0);
  let open = kept.length;
  const shown: JsonObject[] = [];
  for (const { placed, at, size } of kept.toSorted((a, b) => a.size - b.size)) {
    const share = Math.floor(left / open);
    const fits = size <= share;
    const each = fits ? placed.block : shrunk(placed, share - 1, lineWidth(most));
    left -= fits ? size : sizeOfBlock(each) + 1;
    open -= 1;
    shown[at] = each;
  }
  return [...shown, ...note];
}

/** A block in `room` characters of JSON. @param width the longest line */
function shrunk({ block, path }: PlacedBlock, room: number, width: number): JsonObject {
  const resource = objectAt(block, "resource");
  const text = textOfBlock(block);
  if (text === undefined) return textBlock(clipped(`[${aboutBlock(block, resource)}]`, room - EMPTY_BLOCK));
  if (block.type === "text") {
    const frame = writeJson({ ...block, text: "" }).length;
    // Annotations that fill the room stay behind.
    return frame < room / 2
      ? { ...block, text: previewText(text, { path, most: room - frame, width }) }
      : textBlock(previewText(text, { path, most: room - EMPTY_BLOCK, width }));
  }
  const lead = `[${clipped(stringAt(resource, "uri") ?? "", room / 4)}]\n`;
  const preview = previewText(text, { path, most: room - EMPTY_BLOCK - lead.length - 8, width });
  return textBlock(clipped(lead + preview, room - EMPTY_BLOCK));
}

const EMPTY_BLOCK = writeJson(textBlock("")).length;

const aboutBlock = (block: JsonObject, resource: JsonObject | undefined): string => {
  const what = [stringAt(resource, "mimeType"), stringAt(resource, "uri")].filter(Boolean).join(", ");
  return `a block of type ${String(block.type)}${what === "" ? "" : ` (${what})`} of ${sizeOfBlock(block)} characters`;
};
