/** Is a JSON text nested too deeply? Found in one pass, without parsing. */
import { endOfString } from "./result-span.js";

/** The nesting limit for messages of clients. */
export const MAX_DEPTH = 64;

/** A JSON text is nested more deeply than the limit. */
export class NestedTooDeep extends Error {
  override readonly name = "NestedTooDeep";
  constructor(readonly limit: number) {
    super(`nested deeper than ${limit} levels`);
  }
}

/** Whether it has more opening brackets than `limit`; native searches are much cheaper than the pass below. */
function opensMore(text: string, limit: number): boolean {
  let left = limit;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (--left < 0) return true;
    }
  }
  return false;
}

const QUOTE = 34;
const OPEN_ARRAY = 91;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/**
 * True when objects and arrays in `text` are nested more than `limit` deep. Brackets inside strings do not
 * count. For invalid JSON the result is undefined; the parser refuses it.
 *
 * JSON.parse itself takes any depth, but JSON.stringify and every walker that recurses overflow the stack at
 * some ten thousand levels, which fit into 20 KB.
 */
export function exceedsDepth(text: string, limit: number = MAX_DEPTH): boolean {
  // Every bracket is closed, so shorter texts cannot be nested more deeply.
  if (text.length < 2 * (limit + 1) || !opensMore(text, limit)) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = endOfString(text, i);
        if (i === -1) return false;
        break;
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (++depth > limit) return true;
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        depth--;
        break;
    }
  }
  return false;
}
