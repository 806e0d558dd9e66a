/**
 * What do brackets and quotes say of a JSON text without parsing it: is it nested too deeply, and where is the `result` of a
 * response, so that it can be passed on unchanged?
 */

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

/** Character codes of JSON's structure. */
export const QUOTE = 34;
export const COMMA = 44;
export const COLON = 58;
export const OPEN_ARRAY = 91;
const BACKSLASH = 92;
export const CLOSE_ARRAY = 93;
export const OPEN_OBJECT = 123;
export const CLOSE_OBJECT = 125;

/** From `start` inclusive to `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * One pass over valid JSON: whether it is nested more than `limit` deep, and the span of the object that is the `result`
 * of the outermost object. No span where there is none, where `result` is repeated, or where a key of the outermost
 * object has escapes and may be `result` too.
 */
export function scanResponse(
  text: string,
  limit: number,
): { readonly tooDeep: boolean; readonly result?: Span } {
  let depth = 0;
  let start = -1;
  let end = -1;
  let odd = false;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE: {
        const close = endOfString(text, i);
        if (close === -1) return NO_RESULT;
        if (depth === 1) {
          const after = skipSpace(text, close + 1);
          if (text.charCodeAt(after) === COLON) {
            odd ||= text.slice(i, close).includes("\\");
            if (close - i === 7 && text.startsWith("result", i + 1)) {
              odd ||= start !== -1;
              start = skipSpace(text, after + 1);
              i = start - 1;
              continue;
            }
          }
        }
        i = close;
        break;
      }
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (++depth > limit) return TOO_DEEP;
        break;
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        if (--depth === 1 && start !== -1 && end === -1) end = i + 1;
        break;
    }
  }
  return odd || end === -1 || text.charCodeAt(start) !== OPEN_OBJECT
    ? NO_RESULT
    : { tooDeep: false, result: { start, end } };
}

const NO_RESULT = { tooDeep: false };
const TOO_DEEP = { tooDeep: true };

/** The index of the quote that ends the string begun at `start`, or -1. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text.charCodeAt(first - 1) === BACKSLASH) first--;
    if ((end - first) % 2 === 0) return end;
  }
  return -1;
}

/** The index of the first character at or after `from` that is no white space (RFC 8259, 2). */
export function skipSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= 32) at++;
  return at;
}
