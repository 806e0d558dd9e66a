/** Results without the characters that no reader sees: also where a text has again, as JSON, what `structuredContent` has. */
import { isAscii } from "node:buffer";
import type { Steps, Work } from "../../runtime/cooperative-yield.js";
import { isObject, type JsonObject } from "../../wire/json.js";
import { exceedsDepth } from "../../wire/json-scan.js";
import { parseJson, writeJson } from "../../wire/json-text.js";
import type { Payload } from "../../wire/payload.js";
import { OF_MESSAGES, visibleJson } from "./visible-json.js";

/** As bytes of ASCII such a character is an escape, or DEL. */
const SIGNS = ["\\u", "\\b", "\\f", "\x7f"];

/** False where the payload certainly has none: of long results in ASCII, which are bytes. */
export function mayHaveInvisible({ knownMembers }: Payload): boolean {
  if (!Buffer.isBuffer(knownMembers) || !isAscii(knownMembers)) return true;
  return SIGNS.some((sign) => knownMembers.includes(sign));
}

/** The very same object if it has none. */
export function* visibleResult(result: JsonObject, work: Work): Steps<JsonObject> {
  const clean = (yield* visibleJson(result, OF_MESSAGES, work)) as JsonObject;
  const { structuredContent, content } = clean;
  if (structuredContent === result.structuredContent || !Array.isArray(content)) return clean;
  const blocks: unknown[] = [];
  for (const block of content as readonly unknown[]) blocks.push(yield* visibleCopy(block, work));
  return { ...clean, content: blocks };
}

/** Longer or deeper texts are not read as JSON. */
const MAX_COPY = 4 * 1024 * 1024;
const MAX_DEPTH = 128;

/** A text block that is JSON, in which such a character is an escape. */
function* visibleCopy(block: unknown, work: Work): Steps<unknown> {
  if (!isObject(block) || typeof block.text !== "string") return block;
  const { text } = block;
  if (!/^\s*[[{]/.test(text) || !/\\[ubf]/.test(text)) return block;
  if (text.length > MAX_COPY || exceedsDepth(text, MAX_DEPTH)) return block;
  let json: unknown;
  try {
    json = parseJson(text);
  } catch {
    return block;
  }
  const clean = yield* visibleJson(json, OF_MESSAGES, work);
  return clean === json ? block : { ...block, text: writeJson(clean, indentOf(text)) };
}

/** As the server has it, with or without line breaks. */
const indentOf = (text: string): number | undefined => /^\s*[[{]\r?\n([ \t]{1,10})/.exec(text)?.[1]?.length;
