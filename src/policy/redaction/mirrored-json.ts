/**
 * Servers write what stands in `structuredContent` once more into a text, as JSON, for hosts that read nothing else
 * (2025-06-18 and later: server/tools, "Structured Content"). What a path takes out there goes here too.
 */
import type { Steps } from "../../runtime/cooperative-yield.js";
import { exceedsDepth } from "../../wire/depth.js";
import { parseJson, writeJson } from "../../wire/json-text.js";

/** A longer text that could be JSON is taken out as a whole: reading it would hold others up. */
const MAX_LENGTH = 4 * 1024 * 1024;
/** So is one that is nested deeper than messages are. */
const MAX_DEPTH = 128;

/** `text` as JSON without what `cut` takes out; the very same text where that is nothing, or it is no JSON. */
export function* mirroredJson(
  text: string,
  replacement: string,
  cut: (value: unknown) => Steps<unknown>,
): Steps<string> {
  if (!/^[\s\uFEFF]*[[{]/.test(text)) return text;
  if (text.length > MAX_LENGTH || exceedsDepth(text, MAX_DEPTH)) return replacement;
  const json = parsed(text);
  if (json === undefined) return text;
  const clean = yield* cut(json);
  return clean === json ? text : writeJson(clean, indentOf(text));
}

function parsed(text: string): unknown {
  try {
    return parseJson(text.replace(/^\uFEFF/, ""));
  } catch {
    return undefined;
  }
}

/** As the server has it, with or without line breaks. */
const indentOf = (text: string): number | undefined => /^\s*[[{]\r?\n([ \t]{1,10})/.exec(text)?.[1]?.length;
