/** How is a value with exact numbers written as JSON? */
import { ExactNumber } from "./json.js";

/** Formatting of the text. */
export interface WriteOptions {
  /** Spaces for each level, each member on a line of its own. Default: everything on one line. */
  readonly indent?: number | undefined;
  /** The value to write in place of each; not called for exact numbers. */
  readonly replace?: ((value: unknown) => unknown) | undefined;
}

/** JSON.stringify with exact numbers. @throws RangeError where `value` is nested too deeply for the stack */
export function writeExact(value: unknown, { indent = 0, replace }: WriteOptions = {}): string {
  const step = " ".repeat(indent);
  return write(value, indent === 0 ? "" : "\n") ?? "null";

  /** `margin` begins each line at this level. Undefined for values without a JSON form. */
  function write(given: unknown, margin: string): string | undefined {
    if (given instanceof ExactNumber) return given.source;
    const inner = replace === undefined ? given : replace(given);
    if (typeof inner === "string") return quoted(inner);
    if (typeof inner === "number") return Number.isFinite(inner) ? String(inner) : "null";
    if (typeof inner !== "object" || inner === null) return JSON.stringify(inner);
    if (Array.isArray(inner)) return list(inner, margin);
    return "toJSON" in inner && typeof inner.toJSON === "function"
      ? JSON.stringify(inner)
      : members(inner as Readonly<Record<string, unknown>>, margin);
  }

  function list(elements: readonly unknown[], margin: string): string {
    if (elements.length === 0) return "[]";
    const line = margin + step;
    // Joined, because garbage-collecting a rope of a million pieces takes longer than writing it.
    const texts: string[] = [];
    for (let at = 0; at < elements.length; at++) texts.push(write(elements[at], line) ?? "null");
    return `[${line}${texts.join(`,${line}`)}${margin}]`;
  }

  function members(object: Readonly<Record<string, unknown>>, margin: string): string {
    const line = margin + step;
    const colon = indent === 0 ? ":" : ": ";
    let text = "";
    for (const key of Object.keys(object)) {
      const inner = write(object[key], line);
      if (inner !== undefined) text += `${text === "" ? "{" : ","}${line}${quoted(key)}${colon}${inner}`;
    }
    return text === "" ? "{}" : `${text}${margin}}`;
  }
}

/** A fast path for short strings without escapes. */
const quoted = (text: string): string =>
  text.length <= SHORT && PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);

const SHORT = 64;
/** No character that JSON.stringify escapes: quotes, backslashes, control characters, lone surrogates. */
const PLAIN = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;
