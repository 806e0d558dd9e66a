/** What do hosts get of a result that is over its budget? A preview that fits, and where the whole is. */
import { isObject, type JsonObject, objectAt, stringAt, without } from "../../../wire/json.js";
import { writeJson } from "../../../wire/json-text.js";
import { READ_RESULT, RESULT_SCHEME } from "../own-tool.js";
import { clipped } from "../reading/escaped.js";
import { lineWidth } from "../reading/page.js";
import { previewText } from "./preview-text.js";
import { sizeOfBlock, tokensOf } from "./sizes.js";

/** What the preview says of the whole. */
export interface WholeResult {
  /** Undefined if it is too large to be kept. */
  readonly id: string | undefined;
  /** In characters. */
  readonly size: number;
  readonly bytes: number;
  readonly keep: string;
  /** The name of the tool. */
  readonly tool: string;
}

/** Below this budget (characters) notes are short. */
const SHORT_NOTES = 1_600;
/** What a block takes at least, and `content` itself (characters). */
const LEAST_BLOCK = 80;
const FRAME = 40;

/** @param most the budget, in characters of JSON without images and audio */
export function previewResult(result: JsonObject, most: number, whole: WholeResult): JsonObject {
  const structure = Object.hasOwn(result, "structuredContent") ? writeJson(result.structuredContent) : "";
  const notes = notesOf(whole, most);
  const left = most - FRAME - writeJson(notes).length;
  // A structure is whole or left out: hosts check it against a schema.
  const keepsStructure = structure !== "" && structure.length + LEAST_BLOCK <= left;
  const blocks = Array.isArray(result.content) ? result.content.filter(isObject) : [];
  const room = left - (keepsStructure ? structure.length + 24 : 0);
  const shown =
    blocks.length === 0 && structure !== "" && !keepsStructure
      ? [shrunk({ type: "text", text: structure }, room, most)]
      : shrunkBlocks(blocks, room, most);
  return {
    ...(keepsStructure ? result : without(result, ["structuredContent"])),
    content: [...shown, ...notes],
  };
}

/** What stands behind the preview. */
function notesOf({ id, size, bytes, keep, tool }: WholeResult, most: number): readonly JsonObject[] {
  const tokens = tokensOf(size);
  if (id === undefined) {
    const text = `[A preview: the result has about ${tokens} tokens, and is too large to be kept. Call again for less.]`;
    return [{ type: "text", text }];
  }
  const isShort = most < SHORT_NOTES;
  const text = isShort
    ? `[A preview of ~${tokens} tokens. ${READ_RESULT} {"id":"${id}"} reads on]`
    : `[A preview: the whole result has about ${tokens} tokens, and is kept for ${keep}. To read on call ${READ_RESULT} with {"id":"${id}"} and offset, path or search.]`;
  const link: JsonObject = {
    type: "resource_link",
    uri: `${RESULT_SCHEME}${id}`,
    name: isShort ? "result" : `The whole result of ${clipped(tool, 100)}`,
    ...(!isShort && { size: bytes }),
  };
  return [{ type: "text", text }, link];
}

/** Small blocks are unchanged; large ones share what is left. */
function shrunkBlocks(blocks: readonly JsonObject[], room: number, most: number): readonly JsonObject[] {
  const count = Math.max(1, Math.min(blocks.length, Math.floor(room / LEAST_BLOCK)));
  const leftOut = blocks.length - count;
  const note: readonly JsonObject[] =
    leftOut > 0 ? [{ type: "text", text: `[… ${leftOut} more blocks …]` }] : [];
  const kept = blocks.slice(0, count).map((block, at) => ({ block, at, size: sizeOfBlock(block) + 1 }));
  let left = room - (note.length > 0 ? writeJson(note).length : 0);
  let open = kept.length;
  const shown: JsonObject[] = [];
  for (const { block, at, size } of kept.toSorted((a, b) => a.size - b.size)) {
    const share = Math.floor(left / open);
    const fits = size <= share;
    const each = fits ? block : shrunk(block, share - 1, most);
    left -= fits ? size : sizeOfBlock(each) + 1;
    open -= 1;
    shown[at] = each;
  }
  return [...shown, ...note];
}

/** A block in `room` characters of JSON. */
function shrunk(block: JsonObject, room: number, most: number): JsonObject {
  const resource = objectAt(block, "resource");
  const text = block.type === "text" ? stringAt(block, "text") : stringAt(resource, "text");
  if (text === undefined) return textBlock(clipped(`[${aboutBlock(block, resource)}]`, room - EMPTY_BLOCK));
  if (block.type === "text") {
    const frame = writeJson({ ...block, text: "" }).length;
    // Annotations that fill the room stay behind.
    return frame < room / 2
      ? { ...block, text: previewText(text, room - frame, lineWidth(most)) }
      : textBlock(previewText(text, room - EMPTY_BLOCK, lineWidth(most)));
  }
  const lead = `[${clipped(stringAt(resource, "uri") ?? "", room / 4)}]\n`;
  return textBlock(
    clipped(
      lead + previewText(text, room - EMPTY_BLOCK - lead.length - 8, lineWidth(most)),
      room - EMPTY_BLOCK,
    ),
  );
}

const textBlock = (text: string): JsonObject => ({ type: "text", text });
const EMPTY_BLOCK = writeJson(textBlock("")).length;

const aboutBlock = (block: JsonObject, resource: JsonObject | undefined): string => {
  const what = [stringAt(resource, "mimeType"), stringAt(resource, "uri")].filter(Boolean).join(", ");
  return `a block of type ${String(block.type)}${what === "" ? "" : ` (${what})`} of ${sizeOfBlock(block)} characters`;
};
