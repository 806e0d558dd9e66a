/** What stands behind a preview: how to read on, and a link to the whole. */
import type { JsonObject } from "../../../wire/json.js";
import { READ_RESULT, RESULT_SCHEME } from "../own-tool.js";
import { clipped } from "../reading/escaped.js";
import { tokensOf } from "./sizes.js";

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

/** A block of text. */
export const textBlock = (text: string): JsonObject => ({ type: "text", text });

/** What stands behind the preview. @param most the budget, in characters */
export function notesOf(whole: WholeResult, most: number): readonly JsonObject[] {
  const { id, size, keep } = whole;
  const tokens = tokensOf(size);
  if (id === undefined)
    return [
      textBlock(
        `[A preview: the result has about ${tokens} tokens, and is too large to be kept. Call again for less.]`,
      ),
    ];
  const text =
    most < SHORT_NOTES
      ? `[A preview of ~${tokens} tokens. ${READ_RESULT} {"id":"${id}"} reads on]`
      : `[A preview: the whole result has about ${tokens} tokens, and is kept for ${keep}. To read on call ${READ_RESULT} with {"id":"${id}"} and offset, path or search.]`;
  return [textBlock(text), linkTo(whole, id, most)];
}

/** What stands behind a result of which only the structure is left out. They are shorter than the others. */
export function structureNotes(whole: WholeResult, most: number): readonly JsonObject[] {
  if (whole.id === undefined) return [];
  return [textBlock("[structuredContent, which has the same, is left out.]"), linkTo(whole, whole.id, most)];
}

function linkTo({ tool, bytes }: WholeResult, id: string, most: number): JsonObject {
  const isShort = most < SHORT_NOTES;
  return {
    type: "resource_link",
    uri: `${RESULT_SCHEME}${id}`,
    name: isShort ? "result" : `The whole result of ${clipped(tool, 100)}`,
    ...(!isShort && { size: bytes }),
  };
}
