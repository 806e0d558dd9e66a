/**
 * How is what a path takes out of `structuredContent` found in the texts of the same result? Servers write it again as
 * JSON (2025-06-18 and later: server/tools, "Structured Content"), or in any other form: several documents, YAML, a sentence.
 */
import type { Steps, Work } from "../../../runtime/cooperative-yield.js";
import { ExactNumber, isObject, type JsonObject } from "../../../wire/json.js";
import { exceedsDepth } from "../../../wire/json-scan.js";
import { parseJson, writeJson } from "../../../wire/json-text.js";
import { descend, isTarget, type PathNodes } from "./positions.js";

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

/** A shorter value, such as `1` or `yes`, stands everywhere. In characters. */
const MIN_LENGTH = 4;
/** A text is taken out as a whole where to look for all values in it were more (values times characters). */
const MAX_WORK = 16 * 1024 * 1024;
/** Searching for a value is this many times cheaper than for a pattern. */
const COST_DIVISOR = 8;

/** Every text and number that the paths take out of `value`, the longest first. */
export function* removedValues(value: unknown, paths: PathNodes, work: Work): Steps<readonly string[]> {
  const found = new Set<string>();
  const open: [unknown, PathNodes | undefined][] = [[value, paths]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [inner, nodes] = next;
    yield* work.spend(1);
    // Undefined stands for what is meant with all that is in it.
    const below = nodes !== undefined && isTarget(nodes) ? undefined : nodes;
    if (typeof inner === "object" && inner !== null && !(inner instanceof ExactNumber)) {
      for (const [key, each] of Object.entries(inner)) {
        const paths = below && descend(below, key);
        if (paths === undefined || paths.length > 0) open.push([each, paths]);
      }
    } else if (below === undefined) {
      const text = inner instanceof ExactNumber ? inner.source : String(inner);
      if (text.length < MIN_LENGTH || typeof inner === "boolean" || inner === null) continue;
      found.add(text).add(writeJson(text).slice(1, -1));
    }
  }
  return [...found].sort((one, other) => other.length - one.length);
}

/** The result without these values in the texts of its content; the very same one where they are in none. */
export function* withoutValues(
  result: JsonObject,
  values: readonly string[],
  replacement: string,
  work: Work,
): Steps<JsonObject> {
  const { content } = result;
  if (values.length === 0 || !Array.isArray(content)) return result;
  const blocks: unknown[] = [];
  for (const block of content as readonly unknown[]) blocks.push(yield* cleanBlock(block));
  return blocks.every((block, at) => block === content[at]) ? result : { ...result, content: blocks };

  function* cleanBlock(block: unknown): Steps<unknown> {
    if (!isObject(block)) return block;
    const { text, resource } = block;
    if (isObject(resource)) {
      const clean = yield* cleanBlock(resource);
      if (clean !== resource) return { ...block, resource: clean };
    }
    if (typeof text !== "string") return block;
    const clean = yield* cleanText(text);
    return clean === text ? block : { ...block, text: clean };
  }

  function* cleanText(text: string): Steps<string> {
    if (text.length * values.length > MAX_WORK) return replacement;
    let clean = text;
    for (const value of values) {
      yield* work.spend(clean.length / COST_DIVISOR);
      if (clean.includes(value)) clean = clean.split(value).join(replacement);
    }
    return clean;
  }
}
